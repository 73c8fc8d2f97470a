/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs in the kernel know tasks by the numbers that they have in the first PID namespace. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

/* Whether that is ours, too. */
static inline bool pid_namespace_is_initial(void)
{
	enum { INITIAL = 0xEFFFFFFC }; /* PROC_PID_INIT_INO of linux/proc_ns.h */
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == INITIAL;
}
