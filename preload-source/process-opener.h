/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A helper process that alone may look at what others have mapped: of a process that was let in it
 * hands out /proc/PID/maps, open. Whoever has that can read it again and again, for as long as the
 * process runs the same program (proc(5): access is checked when it is opened); so what reads rings
 * and files needs no privilege, nor a way to other processes.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { PROCESS_OPENER_PATIENCE_MS = 1000 }; /* with a process that is just being executed */

struct process_opener {
	int fd; /* of the helper; -1: there is none */
	pid_t pid;
	uint32_t n_asked;
};

/* Before there are threads. 0 or -errno. */
int process_opener_start(struct process_opener *opener);

/* The helper ends with it. */
void process_opener_deinit(struct process_opener *opener);

/*
 * Descriptors of a process: its pidfd, and its maps, or instead -errno of their opening. 0; -ESRCH:
 * it has gone; -ETIMEDOUT: the kernel keeps the helper waiting; -ENOTCONN: the helper has died.
 */
int process_opener_open(struct process_opener *opener, uint32_t pid, int *ret_pid_fd,
			int *ret_maps_fd);
