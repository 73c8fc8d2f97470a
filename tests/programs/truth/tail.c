/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function that ends with a jump to the next one leaves no frame behind.
 *
 * truth: chain START main outer tick       # before it jumps
 * truth: chain START main middle WORK      # afterwards
 */
#include "truth.h"

static LINK void middle(void)
{
	spin();
	STAY();
}

static LINK void outer(void)
{
	for (int i = 0; i < 10000; i++)
		tick();
	middle();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
