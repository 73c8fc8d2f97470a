/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A child that borrows its parent's memory and works in it.
 *
 * truth: chain START main forker child WORK
 * truth: chain START main parent WORK
 * truth: aside START main forker child? HELPERS*
 */
#include "use-sides.h"

static LINK void child(void)
{
	for (int i = 0; i < 50; i++)
		spin();
	STAY();
}

static LINK void parent(void)
{
	for (int i = 0; i < 50; i++)
		spin();
	STAY();
}

static LINK void forker(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		child();
		_exit(0);
	}
	wait_for(pid);
}

int main(int argc, char **argv)
{
	for (long n = turns(rounds_of(argc, argv), 100); n; n--) {
		forker();
		parent();
	}
	return 0;
}
