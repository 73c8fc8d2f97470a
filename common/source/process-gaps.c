/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gaps in the records about mappings. From the beginning of a gap the mappings of a process are
 * unsure until its maps were read after the gap's end *and* the stream has reached the time of
 * reading: in between the process may have mapped something else over a known mapping.
 */
#include <errno.h>

#include "common/base/clock.h"
#include "common/source/processes-internal.h"

void processes_lose(struct processes *processes, uint64_t until)
{
	if (until != UINT64_MAX && until > processes->gap_ended)
		processes->gap_ended = until;
	processes->lost_until = until == UINT64_MAX ? until : processes->gap_ended;
}

/* As processes_is_unsure(), for a process already found. */
static bool is_gappy(const struct processes *processes, const struct tracked_process *process,
		     uint64_t time)
{
	if (!processes->lost_until && !process->space->lost_until)
		return false;
	return process->space->mapped_since <= processes->lost_until ||
	       process->space->mapped_since <= process->space->lost_until ||
	       time < process->space->sure_since;
}

bool processes_is_unsure(const struct processes *processes, uint32_t pid, uint64_t time)
{
	const struct tracked_process *process;

	if (!processes->lost_until && !processes->over_budget.n)
		return false;
	process = processes_find(processes, pid);
	return process && is_gappy(processes, process, time);
}

void processes_inherit_gaps(const struct processes *processes, struct tracked_process *child,
			    const struct tracked_process *parent, uint64_t time)
{
	if (!is_gappy(processes, parent, time))
		child->space->mapped_since = child->space->sure_since = time;
}

bool processes_wants_mending(const struct processes *processes,
			     const struct tracked_process *process, uint64_t time)
{
	uint64_t now;

	if ((!processes->lost_until && !process->space->lost_until) || process->has_exited ||
	    processes->lost_until == UINT64_MAX || time < process->space->sure_since ||
	    !is_gappy(processes, process, time) || processes_is_storming(process, time))
		return false;
	now = clock_now(CLOCK_MONOTONIC);
	return now >= processes->restore_at && now - process->space->read_at >= PROCESSES_REREAD_NS;
}

int processes_restore(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	uint64_t began = clock_now(CLOCK_MONOTONIC), cpu_began = clock_now(CLOCK_THREAD_CPUTIME_ID);
	uint64_t upid = process->upid;
	uint32_t pid = process->pid;
	int r = processes_read_again(processes, pid, time);

	process = processes_find(processes, pid);
	if (r == 0 && process && process->upid == upid) { /* else it is another incarnation */
		process->space->mapped_since = began;
		process->space->sure_since = clock_now(CLOCK_MONOTONIC);
	}
	processes->restore_at =
		clock_now(CLOCK_MONOTONIC) +
		(clock_now(CLOCK_THREAD_CPUTIME_ID) - cpu_began) * PROCESSES_RESTORE_SHARE;
	return r == -ESRCH ? 0 : r;
}
