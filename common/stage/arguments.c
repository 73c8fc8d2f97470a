/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stage/arguments.h"
#include "common/stage/stage.h"

void arguments_parse(const struct argp *argp, const char *name, int argc, char **argv,
		     unsigned int flags, void *input)
{
	error_t error;

	argp_err_exit_status = STAGE_EXIT_USAGE;
	argv[0] = (char *)name; /* the prefix of getopt's messages */
	error = argp_parse(argp, argc, argv, flags, NULL, input);
	if (!error)
		return;
	fprintf(stderr, "%s: error: could not read the command line: %s\n", name, strerror(error));
	exit(STAGE_EXIT_FAILED);
}
