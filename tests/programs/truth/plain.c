/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A chain of calls, built with various options.
 *
 * truth: builds plain-O0 plain-O0-fp plain-O2 plain-O2-fp plain-O3 plain-O3-fp
 * truth: builds plain-no-pie plain-static plain-static-pie
 * truth: builds plain-joined plain-far plain-no-index
 * truth: chain START main outer middle WORK
 */
#include "truth.h"

static LINK void middle(void)
{
	spin();
	STAY();
}

static LINK void outer(void)
{
	middle();
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
