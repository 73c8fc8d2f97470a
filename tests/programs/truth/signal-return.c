/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends itself signals with an empty handler: much of the time is spent returning from one.
 *
 * truth: chain START main outer LIBC+
 * truth: aside START main outer LIBC* handler?
 * truth: aside START main outer (PLT|LD)+
 */
#include <signal.h>

#include "truth.h"

static LINK void handler(int number)
{
	STAY();
}

static LINK void outer(void)
{
	for (int i = 0; i < 1000; i++)
		raise(SIGUSR1);
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, handler);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
