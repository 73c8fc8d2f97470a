/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts the turns of a loop, DEPTH calls deep, in SECONDS, and prints them: what else runs on its
 * CPU takes turns away.
 *
 *	loop-count DEPTH SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS_BETWEEN_LOOKS = 100000 };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static __attribute__((noinline, noclone)) unsigned long count(double until)
{
	unsigned long n = 0;

	while (now() < until)
		for (volatile int i = 0; i < TURNS_BETWEEN_LOOKS; i++)
			n++;
	return n;
}

static __attribute__((noinline, noclone)) unsigned long descend(int depth, double until)
{
	unsigned long n = depth ? descend(depth - 1, until) : count(until);

	__asm__ volatile("" : "+r"(n)); /* no tail call */
	return n;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	printf("%lu\n", descend(atoi(argv[1]), now() + atof(argv[2])));
	return 0;
}
