/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment as the kernel passed it to the program: allocations precede the C library's
 * setting of `environ`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { ENVIRONMENT_ADDRESS_MAX = 100 };

struct environment {
	char address[ENVIRONMENT_ADDRESS_MAX]; /* of the reader's socket, abstract */
	uint64_t token[2];
	uint64_t n_filters; /* seccomp filters of the reader itself */
};

/* Where the reader is; false: no reader started the program. */
bool environment_read(struct environment *ret);

/*
 * Removes our variables, so that programs that this one starts are not traced. false: our library
 * was not in LD_PRELOAD.
 */
bool environment_hide(void);

/*
 * The program's arguments and variables; NULL: unknown (another C library). The auxiliary vector
 * follows the variables, as long as none was removed.
 */
char **environment_arguments(void);
char **environment_variables(void);
