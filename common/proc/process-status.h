/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ids of a process, from /proc/PID/status (proc(5)). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct process_status {
	uint32_t own_pid; /* the PID in its innermost PID namespace */
	uid_t real_user;
	uid_t user; /* effective, in our user namespace: owner of files that it creates */
	gid_t group;
};

/* Reads such a file. 0 or -errno; -EBADMSG: the file is not a status. */
int process_status_read(const char *path, struct process_status *ret);
