/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spins for some milliseconds, two inlined calls deep: inlined-spin ROUNDS */
#include <stdint.h>
#include <stdlib.h>

#define INLINED static inline __attribute__((always_inline))

INLINED uint64_t innermost(uint64_t value, long n)
{
	for (long i = 0; i < n; i++)
		value = value * 6364136223846793005ULL + i; /* the line that samples are in */
	return value;
}

INLINED uint64_t middle(uint64_t value, long rounds)
{
	for (long i = 0; i < rounds; i++)
		value ^= innermost(value, 100000);
	return value;
}

__attribute__((noinline)) static uint64_t outer(long rounds)
{
	return middle(rounds, rounds) + 1;
}

int main(int argc, char **argv)
{
	return argc == 2 && outer(atol(argv[1])) == 0;
}
