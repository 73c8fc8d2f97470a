/* SPDX-License-Identifier: GPL-3.0-or-later */
/* BPF programs see the PIDs of the initial PID namespace. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Whether this process is in the initial PID namespace. */
static inline bool pid_namespace_is_initial(void)
{
	enum { INITIAL = 0xEFFFFFFC }; /* PROC_PID_INIT_INO of linux/proc_ns.h */
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == INITIAL;
}
