/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames of a size known from rbp only, and below them a function that uses rbp for something else:
 * an unwinder that does not follow where that function saved it finds decoy().
 *
 * truth: chain START main outer middle inner WORK
 */
#include "decoy.h"
#include "truth.h"

static LINK void inner(void)
{
	const char *frame[] = { 0, decoy + 1 }; /* looks like a saved rbp and a return address */

	__asm__ volatile("mov %0, %%rbp" : : "r"(frame) : "rbp", "memory");
	spin();
	KEEP(frame);
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
