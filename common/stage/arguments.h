/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Command lines: argp(3) with the statuses and the names of our programs. */
#pragma once

#include <argp.h>

/*
 * Parses a command line of a program that calls itself `name`. What is wrong in it, and that there
 * is no memory, is told in a line, and ends the program.
 */
void arguments_parse(const struct argp *argp, const char *name, int argc, char **argv,
		     unsigned int flags, void *input);
