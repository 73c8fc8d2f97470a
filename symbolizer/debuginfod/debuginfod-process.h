/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that downloads debug files for a stage, and has a child for each of them. It takes
 * struct debuginfod_request, answers each with a struct debuginfod_answer, and ends when the
 * stage has closed its socket or has died. A file that takes too long is given up, and its child
 * killed if need be.
 */
#pragma once

#include <sys/types.h>

enum {
	DEBUGINFOD_PARALLEL_MAX = 4, /* a server that hangs keeps one of them for its time */
	DEBUGINFOD_GRACE_S = 3,	     /* to end by itself when time is over */
};

/* Starts it; the caller owns *ret_fd, and closes it to let the process end. 0 or -errno. */
int debuginfod_process_start(const char *urls, pid_t *ret_pid, int *ret_fd);
