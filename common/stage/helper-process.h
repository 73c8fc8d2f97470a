/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A child process that keeps privileges that its parent does not use: it does one thing for other
 * processes, and keeps nothing else of its parent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	HELPER_PROCESS_FD = 3, /* the first of its descriptors */
	HELPER_PROCESS_FDS_MAX = 256,
};

/*
 * Call it first in the child. `fds` become 3, 4, …; standard input and output become /dev/null (the
 * next stage waits until the parent's output is closed), and all others but standard error are
 * closed. Signals of the terminal are ignored: the parent acts on them. Returns false on failure.
 */
bool helper_process_begin(const char *name, const int *fds, size_t n);

/* A descriptor that is readable once a helper has ended; -1: there is none (Linux before 5.3). */
int helper_process_watch(pid_t pid);

/*
 * Confines a helper that reads untrusted files: no capability, no file system, at most ten seconds
 * of CPU and a GiB of memory; of system calls only those to read, for memory, and `call`. Returns
 * false on failure.
 */
bool helper_process_confine_reader(int call);

/*
 * Drops all other capabilities and system calls (sandbox.h restricts their arguments; files can
 * only be read). Failures are ignored: the helper is needed all the same.
 */
void helper_process_confine(const int *capabilities, size_t n_capabilities, const int *calls,
			    size_t n_calls);
