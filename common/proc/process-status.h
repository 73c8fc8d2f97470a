/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who a process is, by /proc/PID/status (proc(5)). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct process_status {
	uint32_t own_pid; /* the PID in the innermost of its namespaces */
	uid_t real_user;
	uid_t user; /* effective, as we see it: of the files that it makes */
	gid_t group;
};

/* Reads a file of that kind. 0; -EBADMSG: it is none; or -errno. */
int process_status_read(const char *path, struct process_status *ret);
