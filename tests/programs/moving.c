/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs code of one library, then of another one that replaced it in some way:
 *
 *	moving WAY FIRST SECOND
 *
 * Both are built from moving-library.c, where the innermost function has a page of its own. While a
 * thread runs, it is named after the libraries of its outer and inner functions ("alpha",
 * "alpha-beta", …); in between it is "away". WAY is one of `ways` below.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 20000, STACK = 1 << 16, TIMES = 40, ORPHANS = 4 };

struct text {
	char *start;
	size_t size;
	long offset; /* file offset */
	char path[256];
};

static struct text first, second;
static void (*entry)(volatile long *sum, long n);
static char *inner; /* the page of the first library's inner function */
static atomic_int stage;

/* CPU time, so that a busy machine gives as many samples. */
static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void run(const char *name, long ms)
{
	long until = now_ms() + ms;
	volatile long sum = 0;

	prctl(PR_SET_NAME, name);
	while (now_ms() < until)
		entry(&sum, ROUNDS);
	prctl(PR_SET_NAME, "away");
}

static void check(int is_well)
{
	if (!is_well)
		_exit(1);
}

static void find(const char *path, struct text *ret)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], rights[8];
	unsigned long start, end;

	while (maps && ret->size == 0 && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, path) || sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start,
						  &end, rights, &ret->offset, ret->path) != 5)
			continue;
		ret->start = (char *)start;
		ret->size = rights[2] == 'x' ? end - start : 0;
	}
	fclose(maps);
	check(ret->size > 0);
}

/* Maps `size` bytes of a library's text, from offset `from`, at `at`. */
static void map_at(char *at, const struct text *text, size_t from, size_t size, int flags)
{
	/* A read-only descriptor gives no mapping that the kernel treats as shared. */
	int fd = open(text->path, (flags & MAP_SHARED ? O_RDWR : O_RDONLY) | O_CLOEXEC);

	check(mmap(at, size, PROT_READ | PROT_EXEC, flags | MAP_FIXED, fd, text->offset + from) ==
	      at);
	close(fd);
}

static void map_second(void)
{
	map_at(first.start, &second, 0, first.size, MAP_PRIVATE);
}

/*
 * The kernel reports no move. Until the next comparison with /proc, 50 ms later at most, the code
 * has its old name (docs/design/limits.md).
 */
static void run_until_noticed(void)
{
	run("away", 200);
}

static void move_and_stay(void)
{
	check(mremap(second.start, second.size, second.size,
		     MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, first.start) == first.start);
	run_until_noticed();
	run("beta", 700);
}

static void move_part(void)
{
	check(mremap(second.start + (inner - first.start), PAGE, PAGE,
		     MREMAP_MAYMOVE | MREMAP_FIXED, inner) == inner);
	run_until_noticed();
	run("alpha-beta", 700);
}

static void map_over_part(void)
{
	map_at(inner, &second, inner - first.start, PAGE, MAP_PRIVATE);
	run("alpha-beta", 700);
}

static void map_in_turns(void)
{
	for (int i = 0; i < TIMES; i++) {
		munmap(first.start, first.size);
		map_at(first.start, i % 2 ? &first : &second, 0, first.size, MAP_PRIVATE);
		run(i % 2 ? "alpha" : "beta", 20);
	}
}

/* Swaps pages of one file; the kernel creates a mapping for that. */
static void remap_pages(void)
{
	map_at(first.start, &first, 0, first.size, MAP_SHARED);
	check(remap_file_pages(inner, PAGE, 0, (first.offset + (inner - first.start) + PAGE) / PAGE,
			       0) == 0);
	run("alpha-other", 700);
}

static void change_rights(void)
{
	check(mprotect(inner, PAGE, PROT_READ | PROT_WRITE) == 0);
	check(mprotect(inner, PAGE, PROT_READ | PROT_EXEC) == 0);
	run("alpha", 700);
}

static void write_and_drop(void)
{
	check(mprotect(inner, PAGE, PROT_READ | PROT_WRITE) == 0);
	memcpy(inner, inner + PAGE, PAGE);
	check(mprotect(inner, PAGE, PROT_READ | PROT_EXEC) == 0);
	check(madvise(inner, PAGE, MADV_DONTNEED) == 0);
	run("alpha", 700);
}

static void map_in_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		map_second();
		_exit(0);
	}
	check(pid > 0);
	run("beta", 700);
}

static void map_and_run_in_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		map_second();
		run("beta", 300);
		_exit(0);
	}
	check(pid > 0);
	run("beta", 700);
}

static pid_t share(int (*function)(void *arg))
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = clone(function, stack + STACK, CLONE_VM | SIGCHLD, NULL);

	check(pid > 0);
	return pid;
}

static void wait_for_stage(int wanted)
{
	while (stage < wanted)
		usleep(1000);
}

static int run_both(void *arg)
{
	run("alpha", 300);
	stage++;
	wait_for_stage(10);
	run("beta", 700);
	return 0;
}

/* Ends before its child: from then on, no record links the child to the memory that it shares. */
static int leave_a_child(void *arg)
{
	share(run_both);
	return 0;
}

static int have_a_child(void *arg)
{
	pid_t pid = share(run_both);

	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

static int map_and_end(void *arg)
{
	wait_for_stage(1);
	map_second();
	return 0;
}

static void finish_sharing(int n)
{
	wait_for_stage(n);
	map_second();
	stage = 10;
	run("beta", 700);
	while (wait(NULL) > 0)
		;
}

static void share_with_grandchild(void)
{
	share(have_a_child);
	finish_sharing(1);
}

static void share_with_orphans(void)
{
	check(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	for (int i = 0; i < ORPHANS; i++)
		check(waitpid(share(leave_a_child), NULL, 0) > 0);
	finish_sharing(ORPHANS);
}

static void share_with_one_that_ends(void)
{
	share(run_both);
	check(waitpid(share(map_and_end), NULL, 0) > 0);
	stage = 10;
	run("beta", 700);
	while (wait(NULL) > 0)
		;
}

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "move-and-stay", move_and_stay },
	{ "move-part", move_part },
	{ "map-over-part", map_over_part },
	{ "map-in-turns", map_in_turns },
	{ "remap-pages", remap_pages },
	{ "change-rights", change_rights },
	{ "write-and-drop", write_and_drop },
	{ "map-in-vfork", map_in_vfork },
	{ "map-and-run-in-vfork", map_and_run_in_vfork },
	{ "share-with-grandchild", share_with_grandchild },
	{ "share-with-orphans", share_with_orphans },
	{ "share-with-one-that-ends", share_with_one_that_ends },
};

int main(int argc, char *argv[])
{
	void *library;

	check(argc == 4);
	prctl(PR_SET_NAME, "away");
	library = dlopen(argv[2], RTLD_NOW);
	check(library && dlopen(argv[3], RTLD_NOW));
	entry = (__typeof__(entry))dlsym(library, "entry");
	inner = *(char **)dlsym(library, "inner_page");
	find(argv[2], &first);
	find(argv[3], &second);
	run("alpha", 600); /* longer than perf-source waits between two looks at the mappings */
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]))
			continue;
		ways[i].run();
		_exit(0); /* no destructors: their code may have moved */
	}
	return 1;
}
