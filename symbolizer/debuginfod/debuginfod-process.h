/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that downloads debug files for a stage, each in a child. It answers each struct
 * debuginfod_request with a struct debuginfod_answer, and exits when the stage closes its socket or
 * dies. A file that takes too long is abandoned, and its child killed if necessary.
 */
#pragma once

#include <sys/types.h>

enum {
	DEBUGINFOD_PARALLEL_MAX = 4, /* a hanging server occupies one until it times out */
	DEBUGINFOD_GRACE_S = 3,	     /* to exit by itself after the time limit */
};

/* Starts the process, which exits when the caller closes *ret_fd. 0 or -errno. */
int debuginfod_process_start(const char *urls, pid_t *ret_pid, int *ret_fd);
