/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Realigned stacks: the CFA is in a word of memory, stored there from another register.
 *
 * truth: chain START main outer middle aligned WORK
 */
#include "truth.h"

static LINK void aligned(size_t size)
{
	__attribute__((aligned(128))) char room[256];
	char *more = __builtin_alloca(size);

	KEEP(room);
	KEEP(more);
	spin();
	STAY();
}

static LINK void middle(size_t size)
{
	char room[100];

	KEEP(room);
	aligned(size);
	__asm__ volatile("" : : : "rbx", "r12", "r13");
}

static LINK void outer(size_t size)
{
	__attribute__((aligned(64))) char room[64];

	KEEP(room);
	middle(size);
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer(rounds % 500 + 16);
	return 0;
}
