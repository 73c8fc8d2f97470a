/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sched.h>
#include <sys/resource.h>

#include "common/base/priority.h"

/* Of 64 threads that spin on two CPUs, one more gets a thirtieth; with this one a fifth. */
enum { NICENESS = -10 };

/*
 * What matters is a share of the CPUs, not to have it at once: who is told to be a batch does not
 * push off who runs whenever it is woken (sched(7)), and finds more to do at a time.
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
