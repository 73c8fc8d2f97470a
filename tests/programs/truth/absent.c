/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A frame with untouched pages: the kernel does not copy absent pages of the stack, nor anything
 * above them.
 *
 * truth: chain START main roomy WORK
 * truth: ends stack-absent at roomy
 */
#include "truth.h"

enum { ROOM = 256 * 1024 };

static LINK void roomy(void)
{
	char room[ROOM];

	KEEP(room);
	spin();
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		roomy();
	return 0;
}
