/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins in the handler of a signal that a known chain of calls sends to itself, for SECONDS of CPU
 * time: stacks lead through the kernel's signal frame.
 *
 *	signal-chain SECONDS
 */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void handle(int number)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sink = i * number;
}

static __attribute__((noinline)) void interrupted(void)
{
	raise(SIGUSR1);
	sink++; /* no tail call */
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? strtod(argv[1], NULL) : 0;

	if (seconds <= 0)
		return 2;
	signal(SIGUSR1, handle);
	while (cpu_seconds() < seconds)
		interrupted();
	return 0;
}
