/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A signal handler is interrupted by another signal.
 *
 * truth: chain START main interrupted LIBC+ handler WORK
 * truth: chain START main interrupted LIBC+ handler LIBC+ inner_handler WORK
 * truth: aside START main interrupted (LIBC|PLT|LD)+ handler? (LIBC|PLT)*
 */
#include <signal.h>

#include "truth.h"

static LINK void inner_handler(int number)
{
	char room[1000];

	KEEP(room);
	spin();
	STAY();
}

static LINK void handler(int number)
{
	spin();
	raise(SIGUSR2);
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
	signal(SIGUSR2, inner_handler);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		interrupted();
	return 0;
}
