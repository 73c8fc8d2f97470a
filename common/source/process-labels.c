/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads from /proc what no event reports of a process: its control group and its threads' names. */
#include <errno.h>
#include <string.h>

#include "common/source/processes-internal.h"

int processes_find_cgroup(struct processes *processes, struct tracked_process *process,
			  struct cgroup *known, uint64_t time)
{
	char path[CGROUP_PATH_MAX];
	bool is_emitted = processes->proc.read_cgroup(process->pid, path) == 0 &&
			  !processes_is_changing(processes, process->pid);

	if (is_emitted && (!known || strcmp(known->path, path))) {
		process->cgroup = *path ? cgroup_new(path) : NULL;
		if (*path && !process->cgroup)
			return -ENOMEM;
	} else {
		process->cgroup = cgroup_share(known);
	}
	if (!process->cgroup)
		return 0;
	return stage_put(processes->stage, WIRE_RECORD_cgroup,
			 &(struct wire_cgroup){
				 .process = process->upid,
				 .time = time,
				 .path = wire_string(process->cgroup->path, CGROUP_PATH_MAX),
			 });
}

struct thread_names {
	struct processes *processes;
	const struct tracked_process *process;
	uint64_t time;
	int error; /* of the output */
};

/* Emits the names of threads that differ from the process's. */
static int name_thread(uint32_t tid, void *arg)
{
	struct thread_names *names = arg;
	char name[PROC_NAME_MAX] = "";
	struct wire_thread record = {
		.time = names->time,
		.process = names->process->upid,
		.tid = tid,
	};

	names->processes->proc.read_thread_name(names->process->pid, tid, name);
	if (!*name || !strcmp(name, names->process->name))
		return 0;
	record.name = wire_string(name, PROC_NAME_MAX);
	names->error = stage_put(names->processes->stage, WIRE_RECORD_thread, &record);
	return names->error;
}

int processes_name_threads(struct processes *processes, const struct tracked_process *process,
			   uint64_t time)
{
	struct thread_names names = { processes, process, time, 0 };

	if (process->n_threads > 1)
		processes->proc.each_thread(process->pid, name_thread, &names);
	return names.error;
}
