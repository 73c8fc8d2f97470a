/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment as the kernel has given it to the program: allocations come before the C library
 * has set `environ`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ENVIRONMENT_ADDRESS_MAX = 100 };

struct environment {
	char address[ENVIRONMENT_ADDRESS_MAX]; /* of the reader's socket, abstract */
	uint64_t token[2];
	uint64_t n_filters; /* of system calls, that the reader runs under itself */
};

/* Where the reader is; false: the program was not started by one. */
bool environment_read(struct environment *ret);

/*
 * Takes us out of it, so that programs that this one starts are not traced. false: our library was
 * not told to be preloaded there.
 */
bool environment_hide(void);

/*
 * What the program was started with; NULL: that is not known (another C library). Behind the
 * variables, as long as none was taken out, is the auxiliary vector.
 */
char **environment_arguments(void);
char **environment_variables(void);
