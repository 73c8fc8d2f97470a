/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames whose size only rbp knows, and below them a function that uses rbp for something else: who
 * does not follow where that one has saved it finds another caller.
 *
 * truth: chain START main outer middle inner WORK
 */
#include "truth.h"

static LINK void inner(void)
{
	__asm__ volatile("lea -64(%%rsp), %%rbp" : : : "rbp");
	spin();
	__asm__ volatile("" : : : "rbp");
}

static LINK void middle(size_t size)
{
	char *room = __builtin_alloca(size);

	KEEP(room);
	inner();
	STAY();
}

static LINK void outer(size_t size)
{
	char *room = __builtin_alloca(2 * size);

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
