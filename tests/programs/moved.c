/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs one library's code, then another's at the same address, by a way that causes no event:
 *
 *	moved move FIRST SECOND		mremap(2) of the second over the first
 *	moved share FIRST SECOND	a process that shares this one's memory maps it there
 *
 * From then on the process or thread that runs the second is named "second".
 */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 1, ROUNDS = 100000, STACK = 1 << 16 };

struct range {
	uintptr_t start, end;
	unsigned long offset;
	char path[256];
};

typedef void (*entry_function)(volatile long *sum, long n);

static struct range first, second;
static volatile int is_there;

static int find(const char *path, struct range *ret)
{
	const char *name = strrchr(path, '/');
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], rights[8];
	int is_found = 0;

	while (maps && !is_found && fgets(line, sizeof(line), maps))
		is_found = strstr(line, name) &&
			   sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &ret->start, &ret->end,
				  rights, &ret->offset, ret->path) == 5 &&
			   rights[2] == 'x';
	if (maps)
		fclose(maps);
	return is_found ? 0 : -1;
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void run(entry_function entry, double seconds)
{
	volatile long sum = 0;
	double until = cpu_seconds() + seconds;

	while (cpu_seconds() < until)
		entry(&sum, ROUNDS);
}

static int run_second(void *entry)
{
	prctl(PR_SET_NAME, "second");
	while (!is_there)
		usleep(1000);
	run((entry_function)entry, SECONDS);
	return 0;
}

static int move(entry_function entry)
{
	size_t size = second.end - second.start;

	if (mremap((void *)second.start, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (void *)first.start) == MAP_FAILED)
		return 1;
	/* The kernel reports no move: it has the old name for 50 ms (docs/design/limits.md). */
	prctl(PR_SET_NAME, "away");
	run(entry, SECONDS / 4.0);
	run_second((void *)entry);
	_exit(0); /* no destructors: their code was moved */
}

static int share(entry_function entry)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = clone(run_second, stack + STACK, CLONE_VM | SIGCHLD, (void *)entry);
	FILE *file = fopen(second.path, "re");

	if (pid < 0 || !file)
		return 1;
	usleep(100000); /* until it was recorded, with the first one's code */
	if (mmap((void *)first.start, first.end - first.start, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_FIXED, fileno(file), second.offset) == MAP_FAILED)
		return 1;
	is_there = 1;
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

int main(int argc, char *argv[])
{
	void *library = argc == 4 ? dlopen(argv[2], RTLD_NOW) : NULL;
	entry_function entry = library ? (entry_function)dlsym(library, "entry") : NULL;

	if (!entry || !dlopen(argv[3], RTLD_NOW) || find(argv[2], &first) < 0 ||
	    find(argv[3], &second) < 0)
		return 1;
	run(entry, SECONDS);
	if (!strcmp(argv[1], "share"))
		return share(entry);
	is_there = 1;
	return move(entry);
}
