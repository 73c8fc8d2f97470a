/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spins for so many seconds of CPU time in one function, whose name is set at compile time. */
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) static void spin_here(double seconds)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
}

int main(int argc, char **argv)
{
	spin_here(argc > 1 ? atof(argv[1]) : 1);
	return 0;
}
