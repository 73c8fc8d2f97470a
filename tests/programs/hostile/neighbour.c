/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an unprivileged user can do to someone who records the whole machine:
 *
 *	neighbour mappings N K SECONDS	N mappings of code, and K children that share them
 *	neighbour storm SECONDS		maps code over and over at one address
 *	neighbour map MIB SECONDS	code of a JIT compiler with a perf map of that size
 *	neighbour deep SECONDS		ever different stacks, 500 calls deep
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, CHILDREN_MAX = 8192, DEPTH = 500, FUNCTIONS = 16384, FUNCTION_SIZE = 64 };

#define APART __attribute__((noinline, noclone))

static char stacks[CHILDREN_MAX][PAGE];
static uint64_t random_state = 88172645463325252;

static int sleep_for_ever(void *unused)
{
	for (;;)
		pause();
	return 0;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	if (fd < 0)
		abort();
	return fd;
}

static void map_much(int n, int n_children)
{
	int fd = open_self();

	/* Neighbouring mappings have different offsets, so that the kernel cannot merge them. */
	for (int i = 0; i < n; i++)
		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, i % 3 * PAGE) ==
		    MAP_FAILED)
			break;
	for (int i = 0; i < n_children && i < CHILDREN_MAX; i++)
		clone(sleep_for_ever, stacks[i] + PAGE, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
		      NULL);
	for (;;)
		__asm__ volatile("");
}

static void map_again_and_again(void)
{
	int fd = open_self();

	for (;;)
		mmap((void *)0x10000000, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		     0);
}

static void write_map(const char *code, long mib)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	if (!file)
		abort();
	for (long i = 0, size = 0; size < mib << 20; i++)
		size += fprintf(file, "%lx 10 f%lx\n",
				(unsigned long)code + i % FUNCTIONS * FUNCTION_SIZE, i);
	fclose(file);
}

static void run_code(long mib)
{
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	char *code = mmap(NULL, FUNCTIONS * FUNCTION_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < FUNCTIONS; i++)
		memcpy(code + i * FUNCTION_SIZE, loop, sizeof(loop));
	write_map(code, mib);
	for (int i = 0;; i++)
		((void (*)(long))(code + i % FUNCTIONS * FUNCTION_SIZE))(200000);
}

static uint64_t any(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

APART void left(int depth);
APART void right(int depth);

static void go_on(int depth)
{
	if (!depth)
		for (volatile int i = 0; i < 200000; i++)
			;
	else if (any() & 1)
		left(depth - 1);
	else
		right(depth - 1);
}

APART void left(int depth)
{
	go_on(depth);
	__asm__ volatile("");
}

APART void right(int depth)
{
	go_on(depth);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	alarm(atoi(argv[argc - 1]));
	if (!strcmp(mode, "mappings") && argc > 4)
		map_much(atoi(argv[2]), atoi(argv[3]));
	else if (!strcmp(mode, "storm"))
		map_again_and_again();
	else if (!strcmp(mode, "map") && argc > 3)
		run_code(atol(argv[2]));
	else
		for (; !strcmp(mode, "deep");)
			go_on(DEPTH);
	return 2;
}
