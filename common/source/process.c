/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of processes: begins and ends incarnations, and accepts what /proc shows of a PID for
 * the current incarnation only.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/source/processes-internal.h"

struct tracked_process *processes_find(const struct processes *processes, uint32_t pid)
{
	struct tracked_process *process;

	HASH_FIND(hh, processes->by_pid, &pid, sizeof(pid), process);
	return process;
}

void processes_forget(struct processes *processes, struct tracked_process *process)
{
	HASH_DEL(processes->by_pid, process);
	processes_leave_space(process);
	free(process->replaced);
	cgroup_drop(process->cgroup);
	free(process);
}

int processes_put_process(struct processes *processes, const struct tracked_process *process,
			  enum wire_origin origin, uint64_t parent,
			  const struct tracked_process *sharer, uint64_t time)
{
	struct wire_process record = {
		.process = process->upid,
		.time = time,
		.pid = process->pid,
		.origin = origin,
		.parent = parent,
		.name = wire_string(process->name, PROC_NAME_MAX),
		.began = process->began,
		.own_pid = process->own_pid,
		.memory = sharer ? sharer->upid : 0,
	};

	return stage_put(processes->stage, WIRE_RECORD_process, &record);
}

struct tracked_process *processes_begin(struct processes *processes, uint32_t pid, const char *name)
{
	struct tracked_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->upid = ++processes->n_upids;
	process->pid = pid;
	process->n_threads = 1;
	snprintf(process->name, sizeof(process->name), "%s", name);
	if (processes_begin_space(processes, process) == 0)
		HASH_ADD(hh, processes->by_pid, pid, sizeof(process->pid), process);
	if (HASH_HAS(hh, process))
		return process;
	processes_leave_space(process);
	free(process);
	return NULL;
}

int processes_end(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	struct wire_process_exit record = { process->upid, time };
	int r = stage_put(processes->stage, WIRE_RECORD_process_exit, &record);

	processes_forget(processes, process);
	return r;
}

bool processes_is_changing(const struct processes *processes, uint32_t pid)
{
	return processes->proc.is_changing && processes->proc.is_changing(pid, processes->proc.arg);
}

int processes_read_maps(struct processes *processes, uint32_t pid, struct proc_maps *ret)
{
	int r = processes->proc.read_maps(&processes->proc, pid, MAPS_EXECUTABLE, ret);

	if (r == -EACCES || r == -EPERM) {
		++*counters_get(&processes->stage->counters, "refused", "unreadable-maps");
	} else if (r == -ETIMEDOUT || r == -EBUSY) {
		++*counters_get(&processes->stage->counters, "refused", "unanswered-maps");
		return -ETIMEDOUT;
	} else if (r < 0) {
		return r == -ENOMEM ? r : -ESRCH;
	}
	if (processes_is_changing(processes, pid)) {
		proc_maps_deinit(ret);
		return -ESRCH;
	}
	return 0;
}
