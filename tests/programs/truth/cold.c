/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function in two parts: the cold part lies elsewhere, with its own name and unwind information,
 * and is reached by a jump.
 *
 * truth: chain START main (outer|outer.cold) WORK
 * truth: aside START main outer.cold complain
 */
#include "truth.h"

static volatile int never;

static LINK __attribute__((cold)) void complain(void)
{
	never++;
}

static __attribute__((noinline, noclone)) int outer(int number)
{
	char room[200];

	KEEP(room);
	if (number > 0) {
		complain();
		spin();
		complain();
	}
	return number;
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		never += outer(argc);
	return 0;
}
