/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A frame with room that nobody has touched: the kernel copies no page of the stack that is not in
 * memory, and nothing behind it.
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
