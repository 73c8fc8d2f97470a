/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps a live recording going while other processes use all CPUs. A stage needs little CPU time,
 * but in time: while it waits, the stages before it block and the kernel's rings fill.
 */
#pragma once

/*
 * Raises the CPU share of the calling thread and of threads that it starts, by a negative niceness
 * and SCHED_BATCH (sched(7)). Keeps a niceness that is not 0, as it was chosen; does nothing
 * without CAP_SYS_NICE (setpriority(2)).
 */
void priority_raise(void);

/* Undoes SCHED_BATCH alone: a thread that another one waits for runs as soon as it is woken. */
void priority_wait_for_nobody(void);
