/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins below frames that are left in different ways, for SECONDS of CPU time: by the stack
 *pointer, by the frame pointer, and from behind the last instruction of a function. Programs that
 *are compiled with another SIZE have other frames at the same addresses.
 *
 *	rules [again] SECONDS
 *
 * With "again" it spins, and then executes itself.
 */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef SIZE
#define SIZE 64
#endif

static char **arguments;
static double seconds;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static __attribute__((noinline, noclone)) void spin(volatile char *at)
{
	double end = now() + seconds;

	while (now() < end)
		for (int i = 0; i < 100000; i++)
			at[0]++;
}

/* A call that does not return is the last instruction of its function. */
static __attribute__((noinline, noclone, noreturn)) void finish(volatile char *at)
{
	spin(at);
	if (!strcmp(arguments[1], "again"))
		execl("/proc/self/exe", arguments[0], arguments[2], NULL);
	exit(0);
}

static __attribute__((noinline, noclone)) void by_stack_pointer(volatile char *at)
{
	volatile char bytes[SIZE];

	bytes[0] = at[0];
	finish(bytes);
}

static __attribute__((noinline, noclone)) void by_frame_pointer(size_t size)
{
	volatile char *bytes = alloca(size);

	bytes[0] = 0;
	by_stack_pointer(bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int main(int argc, char **argv)
{
	arguments = argv;
	seconds = atof(argv[argc - 1]);
	by_frame_pointer(SIZE * argc);
	return 0;
}
