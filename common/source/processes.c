/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/source/processes-internal.h"

enum { EXITED_AT_FIRST = 64 };

struct exited_process {
	uint64_t upid, time;
	uint32_t pid;
};

void processes_init(struct processes *processes, struct stage *stage, struct images *images)
{
	*processes = (struct processes){
		.stage = stage,
		.images = images,
		.proc = proc_view_live,
		.n_mappings = MAPPING_KERNEL,
	};
}

void processes_deinit(struct processes *processes)
{
	struct tracked_process *process, *next;

	HASH_ITER(hh, processes->by_pid, process, next)
	processes_forget(processes, process);
	processes_drop_compared(processes);
	processes_drop_accounts(processes);
	free(processes->exited);
	processes->exited = NULL;
	maps_reader_end(take_pointer(processes->proc.maps_reader));
}

int processes_add_kernel(struct processes *processes, struct wire_blob build_id, uint64_t time)
{
	const struct mapping kernel = {
		.start = 1ULL << 63,
		.end = UINT64_MAX,
		.offset = 1ULL << 63, /* so that a kernel location is its address */
		.image = IMAGE_KERNEL,
		.number = processes->n_mappings++,
	};
	int r = images_add_kernel(processes->images, build_id);

	return r < 0 ? r : processes_put_mapping(processes, 0, &kernel, 0, time);
}

int processes_add_scripts(struct processes *processes, enum script_language language, uint64_t time)
{
	struct mapping scripts = { .start = script_start(language),
				   .end = script_start(language) + SCRIPT_SIZE };
	int r;

	if (processes->images->scripts[language])
		return 0;
	r = images_add_scripts(processes->images, language);
	scripts.image = processes->images->scripts[language];
	scripts.number = processes->n_mappings++;
	return r < 0 ? r : processes_put_mapping(processes, 0, &scripts, 0, time);
}

int processes_scan(struct processes *processes, uint32_t pid, uint64_t time)
{
	if (processes_find(processes, pid))
		return 0;
	return processes_add_from_proc(processes, pid, WIRE_origin_SCANNED, time);
}

int processes_fork(struct processes *processes, const struct perf_record_task *task, uint64_t time)
{
	struct tracked_process *parent, *sharer, *process = processes_find(processes, task->pid);
	uint64_t parent_upid;
	int r;

	if (task->pid == 0) /* outside our PID namespace: all such processes have PID 0 */
		return 0;
	if (process && time < process->known_since)
		return 0;
	if (task->pid == task->parent_pid) { /* a thread */
		if (process)
			process->n_threads++;
		return 0;
	}
	r = process ? processes_end(processes, process, time) : 0; /* its exit was missed */
	if (r < 0)
		return r;
	parent = processes_find(processes, task->parent_pid);
	parent_upid = parent ? parent->upid : 0;
	process = processes_begin(processes, task->pid, parent ? parent->name : "");
	if (!process)
		return -ENOMEM;
	process->began = time;
	sharer = processes_note_shared(processes, process, parent);
	if (parent && !sharer) {
		mapping_table_share(&process->space->mappings, &parent->space->mappings);
		process->space->is_over_limit = parent->space->is_over_limit;
		processes_inherit_gaps(processes, process, parent, time);
	}
	r = processes_put_process(processes, process, WIRE_origin_FORKED, parent_upid, sharer,
				  time);
	if (r < 0 || !parent)
		return r;
	processes_inherit_account(processes, process, parent);
	process->cgroup = cgroup_share(parent->cgroup);
	r = processes_keep_replaced(process, parent->replaced);
	if (r < 0 || sharer)
		return r;
	return processes_own_anonymous(processes, process, parent->space->anonymous, time);
}

static int queue_exited(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	int r = GROWING_LIST_RESERVE(processes->exited, processes->n_exited_allocated,
				     EXITED_AT_FIRST, processes->n_exited + 1);

	if (r < 0)
		return r;
	process->has_exited = true;
	processes->exited[processes->n_exited++] =
		(struct exited_process){ process->upid, time, process->pid };
	return 0;
}

int processes_exit(struct processes *processes, const struct perf_record_task *task, uint64_t time)
{
	struct tracked_process *process = processes_find(processes, task->pid);

	if (!process || time < process->known_since)
		return 0;
	if (process->n_threads > 1) {
		process->n_threads--;
		return 0;
	}
	return process->has_exited ? 0 : queue_exited(processes, process, time);
}

int processes_reap(struct processes *processes, uint64_t time)
{
	size_t n = 0;
	int r = 0;

	for (; n < processes->n_exited && r == 0; n++) {
		const struct exited_process *exited = &processes->exited[n];
		struct tracked_process *process = processes_find(processes, exited->pid);

		if (exited->time + PROCESSES_LINGER_NS > time)
			break;
		if (process && process->upid == exited->upid)
			r = processes_end(processes, process, time);
	}
	if (n)
		memmove(processes->exited, processes->exited + n,
			(processes->n_exited - n) * sizeof(*processes->exited));
	processes->n_exited -= n;
	return r;
}

/* An exec begins another incarnation of the PID. */
static int execute(struct processes *processes, const struct perf_record_comm *comm,
		   const char *name, uint64_t time)
{
	struct tracked_process *process = processes_find(processes, comm->pid);
	uint64_t predecessor = process ? process->upid : 0;
	_cleanup_(cgroup_dropp) struct cgroup *cgroup =
		process ? cgroup_share(process->cgroup) : NULL;
	struct process_spending spending = { 0 };
	int r = 0;

	if (process) {
		spending = process->spending;
		r = processes_end(processes, process, time);
	}
	if (r < 0)
		return r;
	process = processes_begin(processes, comm->pid, name);
	if (!process)
		return -ENOMEM;
	process->began = time;
	process->space->mapped_since = process->space->sure_since = time;
	process->spending = spending;
	r = processes_put_process(processes, process, WIRE_origin_EXECUTED, predecessor, NULL,
				  time);
	return r < 0 ? r : processes_find_cgroup(processes, process, cgroup, time);
}

int processes_name_thread(struct processes *processes, uint32_t pid, uint32_t tid, const char *name,
			  uint64_t time)
{
	struct tracked_process *process = processes_find(processes, pid);
	const struct wire_thread thread = {
		.time = time,
		.process = process ? process->upid : 0,
		.tid = tid,
		.name = wire_string(name, PROC_NAME_MAX),
	};

	if (!process)
		return 0;
	if (pid == tid)
		snprintf(process->name, sizeof(process->name), "%s", name);
	return stage_put(processes->stage, WIRE_RECORD_thread, &thread);
}

int processes_comm(struct processes *processes, const struct perf_record_comm *comm, uint64_t time)
{
	const char *name = record_text(&comm->header, sizeof(*comm));
	struct tracked_process *process = processes_find(processes, comm->pid);

	if (comm->pid == 0 || !name || (process && time < process->known_since))
		return 0;
	if (perf_record_comm_is_exec(&comm->header))
		return execute(processes, comm, name, time);
	if (process && !processes_spend(processes, process, time))
		return 0;
	return processes_name_thread(processes, comm->pid, comm->tid, name, time);
}

/* The image source of an executable mapping; false: not executable, or without a process. */
static bool mapped_code(const struct processes *processes, const struct perf_record_mmap2 *mmap,
			struct image_source *ret)
{
	*ret = (struct image_source){
		.task = mmap->tid,
		.start = mmap->start,
		.length = mmap->length,
		.offset = mmap->offset,
		.path = record_text(&mmap->header, sizeof(*mmap)),
	};
	if (mmap->pid == 0 || !ret->path || !(mmap->protection & PROT_EXEC))
		return false;
	if (perf_record_mmap_has_build_id(mmap)) {
		ret->build_id_size = perf_record_mmap_build_id(mmap, &ret->build_id);
		return true;
	}
	ret->major = mmap->major;
	ret->minor = mmap->minor;
	ret->inode = mmap->inode;
	ret->generation = mmap->generation;
	if (processes->proc.find_build_id)
		ret->build_id_size = processes->proc.find_build_id(ret->path, &ret->build_id,
								   processes->proc.arg);
	return true;
}

static int map_into(struct processes *processes, struct tracked_process *process,
		    const struct image_source *source, uint64_t time)
{
	processes_note_mapped(processes, process, time);
	if (time < process->space->mapped_since)
		return 0;
	if (process->space->mappings.n >= MAPPING_TABLE_MAX - 2)
		return processes_make_room(processes, process, time);
	return processes_add_mapping(processes, process, source, time);
}

static int map_into_others(struct processes *processes, uint32_t pid, uint64_t group,
			   const struct image_source *source, uint64_t time)
{
	struct tracked_process *process, *next;
	int r = 0;

	HASH_ITER(hh, processes->by_pid, process, next)
	{
		if (r == 0 && process->space->group == group && process->pid != pid &&
		    processes_spend(processes, process, time))
			r = map_into(processes, process, source, time);
	}
	return r;
}

int processes_mmap(struct processes *processes, const struct perf_record_mmap2 *mmap, uint64_t time)
{
	uint64_t group;
	struct tracked_process *process = processes_find(processes, mmap->pid);
	struct image_source source;
	int r;

	/* During a storm, records are dropped before anything else is examined. */
	if ((process && !processes_spend(processes, process, time)) ||
	    !mapped_code(processes, mmap, &source))
		return 0;
	if (!process) {
		r = processes_add_from_proc(processes, mmap->pid, WIRE_origin_FOUND, time);
		if (r < 0)
			return r;
		process = processes_find(processes, mmap->pid);
	}
	group = process->space->group; /* it may be another incarnation later */
	if (time >= process->known_since) {
		r = processes_note_replaced(processes, process, &source,
					    mmap->protection & PROT_WRITE);
		if (r < 0)
			return r;
	}
	r = map_into(processes, process, &source, time);
	if (r == 0 && !group)
		r = processes_find_memory(processes, mmap->pid, source.start, time, &group);
	if (r < 0 || !group)
		return r;
	return map_into_others(processes, mmap->pid, group, &source, time);
}

static bool is_new_code(const struct processes *processes, const struct perf_record_mmap2 *mmap)
{
	const struct tracked_process *process = processes_find(processes, mmap->pid);
	struct image_source source;

	if (process && process->spending.is_refused)
		return false;
	if (!mapped_code(processes, mmap, &source))
		return false;
	if (!process)
		return true;
	return images_is_anonymous(&source) ? !process->space->anonymous
					    : !images_known(processes->images, &source);
}

uint64_t processes_known_image(const struct processes *processes,
			       const struct perf_record_mmap2 *mmap)
{
	struct image_source source;

	return mapped_code(processes, mmap, &source) && !images_is_anonymous(&source)
		       ? images_known(processes->images, &source)
		       : 0;
}

bool processes_is_news(const struct processes *processes, const struct perf_event_header *event)
{
	const struct perf_record_task *task = (const void *)event;

	if (!perf_record_is_whole(event))
		return false;
	switch (event->type) {
	case PERF_RECORD_FORK:
		return task->pid != task->parent_pid;
	case PERF_RECORD_COMM:
		return perf_record_comm_is_exec(event);
	case PERF_RECORD_MMAP2:
		return is_new_code(processes, (const void *)event);
	default:
		return false;
	}
}

/* Reads maps again if that is due at a sample of an address. 0 or -errno. */
static int check_address(struct processes *processes, struct tracked_process *process,
			 uint64_t address, uint64_t time)
{
	int r;

	if (processes_wants_mending(processes, process, time))
		return processes_restore(processes, process, time);
	if (process->has_exited || processes_is_moving(processes, process, time) ||
	    mapping_table_find(&process->space->mappings, address) ||
	    !processes_may_reread(processes, process, time))
		return processes_look_again(processes, process, address, time);
	r = processes_reread(processes, process, time);
	return r == -ESRCH ? 0 : r;
}

int processes_of_sample(struct processes *processes, uint32_t pid, uint64_t address, uint64_t time,
			uint64_t *ret_upid)
{
	struct tracked_process *process;
	int r = 0;

	if (pid == 0 &&
	    address) /* not the idle task, which has no user side: outside our PID namespace */
		pid = PID_UNKNOWN;
	process = processes_find(processes, pid);
	if (!process)
		r = processes_add_from_proc(processes, pid, WIRE_origin_FOUND, time);
	else if (address && !process->space->is_over_limit) /* else nothing can be found out */
		r = check_address(processes, process, address, time);
	if (r < 0)
		return r;
	if (!process || address)
		process = processes_find(processes, pid); /* it may be another incarnation now */
	*ret_upid = process->upid;
	return 0;
}

int processes_discover(struct processes *processes, uint32_t pid, enum wire_origin origin,
		       uint64_t time, uint64_t *ret_upid)
{
	struct tracked_process *process = processes_find(processes, pid);
	int r = process ? processes_end(processes, process, time) : 0;

	if (r == 0)
		r = processes_add_from_proc(processes, pid, origin, time);
	process = processes_find(processes, pid);
	*ret_upid = process ? process->upid : 0;
	return r;
}

int processes_each(const struct processes *processes, uint64_t since,
		   int (*each)(uint32_t pid, void *arg), void *arg)
{
	struct tracked_process *process, *next;
	int r = 0;

	HASH_ITER(hh, processes->by_pid, process, next)
	{
		if (process->began >= since)
			r = each(process->pid, arg);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

const struct mapping_table *processes_mappings(const struct processes *processes, uint32_t pid)
{
	const struct tracked_process *process = processes_find(processes, pid);

	return process ? &process->space->mappings : NULL;
}

int processes_finish(struct processes *processes, uint32_t pid, uint64_t time)
{
	struct tracked_process *process = processes_find(processes, pid);

	return process ? processes_end(processes, process, time) : 0;
}

uint32_t processes_find_mapping(const struct processes *processes, uint32_t pid, uint64_t address)
{
	const struct tracked_process *process = processes_find(processes, pid);
	const struct mapping *mapping =
		process ? mapping_table_find(&process->space->mappings, address) : NULL;

	return mapping ? mapping->number : 0;
}
