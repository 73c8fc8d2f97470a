/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places in programs as tracepoints: uprobes. They are defined in tracefs (Documentation/trace/
 * uprobetracer.rst of Linux) while a recording lasts. The kernel has events for them without a
 * definition, too, but those cannot be inherited: fork(2) of whoever is recorded then fails with
 * EFAULT, as the kernel reads the path for each child again from the memory of whoever forks
 * (perf_uprobe_init() of kernel/trace/trace_event_perf.c, 4.17 to 6.18 at least).
 */
#pragma once

#include <stdint.h>

/*
 * Defines the tracepoint of a place, number `number` of this process; what recorders that were
 * killed have left behind goes. 0 or -errno: -EACCES: tracefs
 * is for root alone; -ENOENT: it is not mounted, or has no uprobes; -EINVAL, -EOPNOTSUPP: there is
 * no place for a breakpoint there.
 */
int uprobe_define(uint32_t number, int fd, uint64_t offset, uint32_t *ret_tracepoint);

/* Takes it back; when no event is open any more. */
void uprobe_undefine(uint32_t number);
