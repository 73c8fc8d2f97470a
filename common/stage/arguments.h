/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines: argp(3) with the exit statuses and names of our programs. */
#pragma once

#include <argp.h>

/* Parses the command line of `name`. On an error (usage, no memory) prints one line and exits. */
void arguments_parse(const struct argp *argp, const char *name, int argc, char **argv,
		     unsigned int flags, void *input);
