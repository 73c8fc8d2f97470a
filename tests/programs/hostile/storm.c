/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the kernel emit one kind of event over and over:
 *
 *	storm WHAT SECONDS [N]
 *
 * in N processes (1). Ends when its parent ends.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT ((char *)0x10000000)

enum { PAGE = 4096, REPORTED = PROT_READ | PROT_EXEC };

static int ours, others; /* descriptors */

static void map(int fd, int protection)
{
	if (mmap(AT, PAGE, protection, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
		abort();
}

static void do_mmap(void)
{
	map(ours, REPORTED);
}

static void do_turns(void)
{
	map(ours, REPORTED);
	map(others, REPORTED);
}

static void do_protect(void)
{
	mprotect(AT, PAGE, PROT_READ);
	mprotect(AT, PAGE, REPORTED);
}

static void do_remap(void)
{
	map(ours, REPORTED);
	mremap(AT, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, AT + 16 * PAGE);
}

static void do_anonymous(void)
{
	if (mmap(AT, PAGE, REPORTED, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
}

static void do_name(void)
{
	static int n;

	prctl(PR_SET_NAME, n++ % 2 ? "storm" : "storm-2");
}

static void do_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void do_exec(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "storm", (char *)NULL);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void *nothing(void *arg)
{
	return arg;
}

static void do_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
}

/* Each child has a budget of its own. */
static void do_children(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 50; i++)
			do_turns();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} storms[] = {
	{ "mmap", do_mmap },	     { "turns", do_turns },	    { "protect", do_protect },
	{ "remap", do_remap },	     { "anonymous", do_anonymous }, { "name", do_name },
	{ "fork", do_fork },	     { "exec", do_exec },	    { "thread", do_thread },
	{ "children", do_children },
};

static void (*find(const char *name))(void)
{
	for (size_t i = 0; i < sizeof(storms) / sizeof(*storms); i++)
		if (!strcmp(storms[i].name, name))
			return storms[i].run;
	fprintf(stderr, "storm: no such thing: %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	void (*run)(void);
	time_t end;

	if (argc < 3)
		return argc == 1 ? 0 : 2; /* executed by do_exec() */
	run = find(argv[1]);
	ours = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	others = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	end = time(NULL) + atoi(argv[2]);
	for (int i = 1; i < (argc > 3 ? atoi(argv[3]) : 1); i++)
		if (fork() == 0)
			break;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map(ours, REPORTED);
	while (time(NULL) < end)
		for (int i = 0; i < 100; i++)
			run();
	return 0;
}
