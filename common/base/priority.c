/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sched.h>
#include <sys/resource.h>

#include "common/base/priority.h"

/* Beside 64 threads that spin on two CPUs, one more gets 1/30 of a CPU; with this, 1/5. */
enum { NICENESS = -10 };

/*
 * A stage needs its share of the CPUs, but not at once: a SCHED_BATCH thread does not preempt
 * another when it is woken (sched(7)), and so finds more to do at a time.
 */
void priority_raise(void)
{
	const struct sched_param none = { 0 };

	if (getpriority(PRIO_PROCESS, 0) != 0 || setpriority(PRIO_PROCESS, 0, NICENESS) < 0)
		return;
	if (sched_getscheduler(0) == SCHED_OTHER)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

void priority_wait_for_nobody(void)
{
	const struct sched_param none = { 0 };

	if (sched_getscheduler(0) == SCHED_BATCH)
		sched_setscheduler(0, SCHED_OTHER, &none);
}
