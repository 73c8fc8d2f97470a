/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls itself DEPTH deep, with frames of at least ROOM bytes, and works there. */
#include "truth.h"

static LINK void dive(int depth)
{
	char room[ROOM];

	KEEP(room);
	if (depth > 1)
		dive(depth - 1);
	else
		spin();
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		dive(DEPTH);
	return 0;
}
