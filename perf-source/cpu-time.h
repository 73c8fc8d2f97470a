/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long processes have run by the kernel's own account, which does not depend on what was
 * sampled of them: what a clock has not sampled is known by it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_time {
	uint64_t user_ns, kernel_ns;
};

/*
 * A child of ours that was not waited for, with all that its descendants have done by the time that
 * they were waited for (getrusage(2), RUSAGE_CHILDREN). 0 or -errno.
 */
int cpu_time_of_child(pid_t pid, struct cpu_time *ret);

/*
 * Any process, in ticks of 10 ms (proc(5)): itself, and its children that it has waited for. 0 or
 * -errno; -ESRCH: it has gone.
 */
int cpu_time_of_process(pid_t pid, struct cpu_time *ret, struct cpu_time *ret_children);

/* Whether it has children now. */
bool cpu_time_has_children(pid_t pid);
