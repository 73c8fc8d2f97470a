/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU time of processes by the kernel's own account, which does not depend on samples: it shows how
 * much a clock has not sampled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_time {
	uint64_t user_ns, kernel_ns;
};

/*
 * Of a child of ours that was not waited for, with its descendants that were waited for
 * (getrusage(2), RUSAGE_CHILDREN). 0 or -errno.
 */
int cpu_time_of_child(pid_t pid, struct cpu_time *ret);

/*
 * Of any process, in ticks of 10 ms (proc(5)): itself, and its children that it has waited for. 0
 * or -errno; -ESRCH: it has exited.
 */
int cpu_time_of_process(pid_t pid, struct cpu_time *ret, struct cpu_time *ret_children);

/* Whether a process has children now. */
bool cpu_time_has_children(pid_t pid);
