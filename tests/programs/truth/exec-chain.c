/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One process that executes one program after the other, at the same addresses.
 *
 * truth: chain START main outer WORK
 * truth: aside START main HELPERS*
 * truth: comm side-left
 * truth: chain START main left_enter left_outer left_spin
 * truth: comm side-right
 * truth: chain START main right_enter right_outer right_spin
 */
#include "use-sides.h"

static LINK void outer(void)
{
	spin();
	STAY();
}

int main(int argc, char **argv)
{
	const char *part = "600";
	char left[PATH_MAX], right[PATH_MAX], rest[32];
	long rounds = rounds_of(argc, argv);

	for (int i = 0; i < 300; i++)
		outer();
	strcpy(left, beside("side-left"));
	strcpy(right, beside("side-right"));
	snprintf(rest, sizeof(rest), "%ld", rounds - 2500);
	execl(left, left, part, "-", right, part, "-", left, part, "-", right, part, "-",
	      rounds > 2500 ? argv[0] : NULL, rest, NULL);
	return 1;
}
