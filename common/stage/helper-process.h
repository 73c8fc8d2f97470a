/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A child of a source that keeps privileges of which the source itself makes no use: it does one
 * thing for others, and nothing of its parent's lives on in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { HELPER_PROCESS_FD = 3 }; /* the first of its descriptors */

/*
 * In the child, first of all: these descriptors are 3, 4, … from then on, standard input and output
 * lead nowhere (the next stage waits for the end of the parent's), all others but standard error
 * are closed. Signals of the terminal are the parent's to act on. false: it could not.
 */
bool helper_process_begin(const char *name, const int *fds, size_t n);

/*
 * Gives up all capabilities but these, and all system calls but these (sandbox.h has which
 * arguments they may have; files are opened to be read). What of it cannot be had is left out:
 * the helper is needed all the same.
 */
void helper_process_confine(const int *capabilities, size_t n_capabilities, const int *calls,
			    size_t n_calls);
