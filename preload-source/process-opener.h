/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A privileged helper process that opens an accepted process's pidfd and /proc/PID/maps and passes
 * them on. Access to maps is checked at open only (proc(5)), and they can be reread while the
 * process runs the same program. So the process that parses rings and files needs neither
 * privileges nor access to other processes.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum { PROCESS_OPENER_PATIENCE_MS = 1000 }; /* while execve(2) blocks opening its maps */

struct process_opener {
	int fd; /* socket of the helper; -1: none */
	pid_t pid;
	uint32_t n_asked;
};

/* Forks, so it must be called before threads exist. 0 or -errno. */
int process_opener_start(struct process_opener *opener);

/* Closes the socket, at which the helper exits. */
void process_opener_deinit(struct process_opener *opener);

/*
 * Opens a process's pidfd, and its maps (or -errno of that). 0; -ESRCH: it has exited; -EMFILE: no
 * descriptors left; -ETIMEDOUT: the kernel blocks the helper; -ENOTCONN: the helper has died.
 */
int process_opener_open(struct process_opener *opener, uint32_t pid, int *ret_pid_fd,
			int *ret_maps_fd);
