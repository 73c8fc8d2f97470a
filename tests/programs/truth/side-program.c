/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One side as a static program at fixed addresses, for others to execute:
 *
 *	side-left ROUNDS [COMM] [COMMAND ARG…]
 *
 * names itself COMM, unless that is "-", does its rounds, and executes COMMAND.
 */
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "sides.h"

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[2], "-"))
		prctl(PR_SET_NAME, argv[2]);
	enter_of(rounds_of(argc, argv));
	if (argc > 3)
		execv(argv[3], argv + 3);
	return argc > 3;
}
