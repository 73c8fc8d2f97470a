/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program and a library that are deleted as soon as they run.
 *
 * truth: runs copied
 * truth: chain START main outer WORK
 * truth: chain START main call_left left_enter left_outer left_spin
 * truth: aside START main remove_file? HELPERS*
 */
#include "use-sides.h"

static LINK void outer(void)
{
	spin();
	STAY();
}

static LINK void remove_file(const char *path)
{
	check(unlink(path) == 0, path);
}

int main(int argc, char **argv)
{
	enter_function *enter = find(open_library(beside("libleft.so")), "left_enter");

	remove_file(beside("libleft.so"));
	remove_file(argv[0]);
	for (long rounds = turns(rounds_of(argc, argv), 2); rounds; rounds--) {
		outer();
		call_left(enter, 1);
	}
	return 0;
}
