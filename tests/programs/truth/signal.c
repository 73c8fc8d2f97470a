/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Works in the handler of a signal that the chain sends to itself.
 *
 * truth: chain START main interrupted LIBC+ handler WORK
 * truth: aside START main interrupted (LIBC|PLT|LD)+
 */
#include <signal.h>

#include "truth.h"

static LINK void handler(int number)
{
	spin();
	STAY();
}

static LINK void interrupted(void)
{
	raise(SIGUSR1);
	STAY();
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, handler);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		interrupted();
	return 0;
}
