/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spins below a million calls of itself: deep SECONDS */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

/* Its samples are below all calls; other samples are on the way there or back. */
__attribute__((noinline)) static void spin(clock_t end)
{
	while (clock() < end)
		for (unsigned long i = 0; i < 1000000; i++)
			sink += i;
}

__attribute__((noinline)) static void descend(unsigned long depth, clock_t end)
{
	if (depth)
		descend(depth - 1, end);
	else
		spin(end);
	sink++;
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 1UL << 30, 1UL << 30 };

	if (argc == 2 && setrlimit(RLIMIT_STACK, &limit) == 0 && !getenv("DEEP")) {
		setenv("DEEP", "1", 1); /* the limit determines the stack's place at exec */
		execv(argv[0], argv);
	}
	descend(1000000, argc == 2 ? atof(argv[1]) * CLOCKS_PER_SEC : 0);
	return 0;
}
