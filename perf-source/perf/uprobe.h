/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Uprobes: places in programs as tracepoints, defined in tracefs for the time of a recording
 * (Documentation/trace/uprobetracer.rst of Linux). The kernel also has uprobe events without a
 * definition, but those cannot be inherited: fork(2) of a recorded task fails with EFAULT, as the
 * kernel reads the path again for each child, from the memory of the task that forks
 * (perf_uprobe_init() of kernel/trace/trace_event_perf.c, 4.17 to 6.18 at least).
 */
#pragma once

#include <stdint.h>

/*
 * Defines the tracepoint of a place, with a `number` unique in this process, and removes those that
 * killed recorders left behind. 0 or -errno: -EACCES: only root may use tracefs; -ENOENT: it is not
 * mounted, or has no uprobes; -EINVAL, -EOPNOTSUPP: no breakpoint can be set there.
 */
int uprobe_define(uint32_t number, int fd, uint64_t offset, uint32_t *ret_tracepoint);

/* Removes the definition; to be called when its events are closed. */
void uprobe_undefine(uint32_t number);
