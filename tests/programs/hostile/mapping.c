/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has more mappings, and more processes that share them, than a recorder can keep:
 *
 *	mapping KIND N sharers|forks|threads K SECONDS DIRECTORY
 *
 * N mappings of KIND: `file`, pages of one file; `files`, a page of each of N files in DIRECTORY;
 * `anonymous`, memory without a file. K processes share them, or K forked ones map something of
 * their own, or K threads keep renaming themselves. One is made each millisecond; then the program
 * spins at an address that no mmap event named.
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, STACK = 4096, CHILDREN_MAX = 32768, PAUSE_US = 1000 };

/* dec %rdi; jnz -5; ret */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
static char stacks[CHILDREN_MAX][STACK] __attribute__((aligned(16)));

static int open_file(const char *directory, unsigned long i)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/mapped-%lu", directory, i);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, loop, sizeof(loop)) != sizeof(loop) || ftruncate(fd, PAGE) < 0)
		err(1, "%s", path);
	return fd;
}

/* Leaves a gap behind each mapping, so that the kernel does not merge them. */
static void map(const char *kind, unsigned long n, const char *directory)
{
	char *area = mmap(NULL, 2 * PAGE * n, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	munmap(area, 2 * PAGE * n);
	for (unsigned long i = 0; i < n; i++) {
		char *at = area + 2 * PAGE * i;
		int file = strcmp(kind, "files") ? fd : open_file(directory, i);
		int flags = MAP_PRIVATE | MAP_FIXED;

		if (strcmp(kind, "anonymous") == 0)
			flags |= MAP_ANONYMOUS;
		if (mmap(at, PAGE, PROT_READ | PROT_EXEC, flags, flags & MAP_ANONYMOUS ? -1 : file,
			 0) == MAP_FAILED)
			err(1, "mmap");
		if (file != fd)
			close(file);
	}
	close(fd);
}

static int wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return 0;
}

/* Runs in a forked child, whose mappings then differ from its parent's. */
static int map_own(void *arg)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return wait_for_ever(arg);
}

static void *rename_for_ever(void *arg)
{
	char name[16];

	for (unsigned long i = 0;; i++) {
		snprintf(name, sizeof(name), "name-%lu", i);
		prctl(PR_SET_NAME, name);
		usleep(PAUSE_US * 100);
	}
	return arg;
}

static void make(const char *what, unsigned long k)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 16384);
	for (unsigned long i = 0; i < k && i < CHILDREN_MAX; i++) {
		int r = 0;

		if (strcmp(what, "threads") == 0)
			r = -pthread_create(&thread, &attributes, rename_for_ever, NULL);
		else if (strcmp(what, "sharers") == 0)
			r = clone(wait_for_ever, stacks[i] + STACK - 16,
				  CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
		else
			r = clone(map_own, stacks[i] + STACK - 16, SIGCHLD, NULL);
		if (r < 0)
			break; /* at the limit */
		usleep(PAUSE_US);
	}
}

/* Moves the code each time, as no event reports mremap(2). */
static void spin(clock_t end)
{
	char *room = mmap(NULL, 1024 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (room == MAP_FAILED || at == MAP_FAILED)
		err(1, "mmap");
	memcpy(at, loop, sizeof(loop));
	for (unsigned long i = 0; clock() < end; i++) {
		((void (*)(unsigned long))at)(10000000);
		at = mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			    room + i % 512 * 2 * PAGE);
		if (at == MAP_FAILED)
			err(1, "mremap");
	}
}

int main(int argc, char **argv)
{
	if (argc != 7)
		errx(2, "usage: mapping KIND N sharers|forks|threads K SECONDS DIRECTORY");
	map(argv[1], strtoul(argv[2], NULL, 10), argv[6]);
	if (puts("ready") < 0 || fflush(stdout))
		err(1, "stdout");
	make(argv[3], strtoul(argv[4], NULL, 10));
	spin(clock() + atof(argv[5]) * CLOCKS_PER_SEC);
	return 0;
}
