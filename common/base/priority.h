/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a recording goes on while others take all CPUs. Each stage of one that lives needs little
 * time of a CPU, but needs it in time: while one waits, those before it wait for it, and the
 * kernel's rings fill.
 */
#pragma once

/*
 * Raises the share of the CPUs that is the calling thread's, and theirs that it starts: a niceness,
 * and to be a batch (sched(7)). Whose niceness was chosen keeps it; without CAP_SYS_NICE there is
 * nothing to be done (setpriority(2)).
 */
void priority_raise(void);

/*
 * The calling thread runs as soon as it is woken, at the priority that it has: of one that another
 * thread waits for.
 */
void priority_wait_for_nobody(void);
