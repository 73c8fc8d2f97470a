/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/source/maps-reader.h"
#include "common/source/processes-internal.h"

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

static void forget(struct processes *processes, struct tracked_process *process)
{
	HASH_DEL(processes->by_pid, process);
	processes_leave_space(process);
	free(process->replaced);
	cgroup_drop(process->cgroup);
	free(process);
}

void processes_deinit(struct processes *processes)
{
	struct tracked_process *process, *next;

	HASH_ITER(hh, processes->by_pid, process, next)
	forget(processes, process);
	processes_drop_compared(processes);
	processes_drop_accounts(processes);
	free(processes->exited);
	processes->exited = NULL;
	maps_reader_end(take_pointer(processes->proc.maps_reader));
}

struct tracked_process *processes_find(const struct processes *processes, uint32_t pid)
{
	struct tracked_process *process;

	HASH_FIND(hh, processes->by_pid, &pid, sizeof(pid), process);
	return process;
}

/* `sharer`: who it has one memory with, NULL: nobody. */
static int put_process(struct processes *processes, const struct tracked_process *process,
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

static int put_exit(struct processes *processes, const struct tracked_process *process,
		    uint64_t time)
{
	struct wire_process_exit record = { process->upid, time };

	return stage_put(processes->stage, WIRE_RECORD_process_exit, &record);
}

int processes_add_kernel(struct processes *processes, struct wire_blob build_id, uint64_t time)
{
	const struct mapping kernel = {
		.start = 1ULL << 63,
		.end = UINT64_MAX,
		.offset = 1ULL << 63, /* so that a place in the kernel is its address */
		.image = IMAGE_KERNEL,
		.number = processes->n_mappings++,
	};
	int r = images_add_kernel(processes->images, build_id);

	return r < 0 ? r : processes_put_mapping(processes, 0, &kernel, 0, time);
}

/* A new incarnation; the one before it, if any, is over. The caller tells of it. */
static struct tracked_process *begin(struct processes *processes, uint32_t pid, const char *name)
{
	struct tracked_process *process = processes_find(processes, pid);

	if (process)
		forget(processes, process);
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->upid = ++processes->n_upids;
	process->pid = pid;
	process->n_threads = 1;
	snprintf(process->name, sizeof(process->name), "%s", name);
	if (processes_begin_space(processes, process) < 0) {
		free(process);
		return NULL;
	}
	HASH_ADD(hh, processes->by_pid, pid, sizeof(process->pid), process);
	if (HASH_HAS(hh, process))
		return process;
	processes_leave_space(process);
	free(process);
	return NULL;
}

int processes_end(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	int r = put_exit(processes, process, time);

	forget(processes, process);
	return r;
}

int processes_add_maps(struct processes *processes, struct tracked_process *process,
		       const struct proc_maps *maps, uint64_t time)
{
	uint32_t n_before = processes->n_mappings;
	size_t n_known = process->space->mappings.n;
	int r = 0;

	if (maps->n > n_known && !processes_spend_maps(processes, process, maps->n - n_known, time))
		return processes_give_up(processes, process, time);
	for (size_t i = 0; i < maps->n && r == 0; i++) {
		const struct proc_mapping *mapping = &maps->list[i];
		const struct image_source source = processes_source_of(maps, mapping);

		if (processes_is_replaced_text(process, &source))
			continue;
		r = processes_add_mapping(processes, process, &source, mapping->offset, time);
	}
	if (maps->n_refused)
		*counters_get(&processes->stage->counters, "refused", "mapping") += maps->n_refused;
	return r < 0 || processes->n_mappings == n_before
		       ? r
		       : processes_note_holes(processes, process, maps);
}

bool processes_is_changing(const struct processes *processes, uint32_t pid)
{
	return processes->proc.is_changing && processes->proc.is_changing(pid, processes->proc.arg);
}

static int count_thread(uint32_t tid, void *arg)
{
	return 0;
}

/* It is there, but what it has mapped is not to be had: what was known of that stays. */
static int count_unanswered(struct processes *processes)
{
	++*counters_get(&processes->stage->counters, "refused", "unanswered-maps");
	return -ETIMEDOUT;
}

int processes_read_maps(struct processes *processes, uint32_t pid, struct proc_maps *ret)
{
	int r = processes->proc.read_maps(&processes->proc, pid, MAPS_EXECUTABLE, ret);

	if (r == -EACCES || r == -EPERM)
		++*counters_get(&processes->stage->counters, "refused", "unreadable-maps");
	else if (r == -ETIMEDOUT || r == -EBUSY)
		return count_unanswered(processes);
	else if (r < 0)
		return r == -ENOMEM ? r : -ESRCH;
	if (processes_is_changing(processes, pid)) {
		proc_maps_deinit(ret);
		return -ESRCH;
	}
	return 0;
}

/* Who it has one memory with, if that is not known yet; what is known of that is known of its own.
 */
static struct tracked_process *find_shared(struct processes *processes,
					   struct tracked_process *process,
					   struct tracked_process *sharer)
{
	uint32_t parent = processes->proc.find_parent(process->pid);

	if (!sharer)
		return processes_note_shared(processes, process, processes_find(processes, parent));
	processes_join_space(process, sharer);
	return sharer;
}

/* Its maps need not be read. */
static int check_unchanged(const struct processes *processes, uint32_t pid)
{
	return processes_is_changing(processes, pid) ? -ESRCH : 0;
}

/* A process that is not known, from /proc, or without anything if it cannot be had there. */
static int add_from_proc(struct processes *processes, uint32_t pid, enum wire_origin origin,
			 uint64_t time)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	struct tracked_process *process, *sharer = processes_find_sharer(processes, pid);
	char name[PROC_NAME_MAX] = "";
	/* What happens while we read may be missing from it; threads are counted, so they go first.
	 */
	uint64_t before = clock_now(CLOCK_MONOTONIC);
	int n_threads = processes->proc.each_thread(pid, count_thread, NULL);
	int r = sharer ? check_unchanged(processes, pid)
		       : processes_read_maps(processes, pid, &maps);
	uint64_t after = clock_now(CLOCK_MONOTONIC);

	if (r == -ENOMEM || (r < 0 && origin == WIRE_origin_SCANNED))
		return r == -ENOMEM ? r : 0;
	if (r == 0 || r == -ETIMEDOUT)
		processes->proc.read_name(pid, name);
	else if (pid == 0)
		strcpy(name, "swapper");
	process = begin(processes, pid, name);
	if (!process)
		return -ENOMEM;
	process->space->read_at = before;
	if (r == 0) {
		process->known_since = before;
		process->space->mapped_since = maps.n ? before : 0;
		process->space->sure_since = after;
		processes_note_size(processes, process, before);
		process->began = processes->proc.find_start(pid);
		process->own_pid = processes->proc.find_own_pid(pid);
		process->n_threads = n_threads > 0 ? n_threads : 1;
		sharer = find_shared(processes, process, sharer);
	}
	r = put_process(processes, process, origin, 0, sharer, time);
	if (r == 0)
		r = processes_find_cgroup(processes, process, NULL, time);
	if (r == 0)
		r = processes_name_threads(processes, process, time);
	/* Of a memory that others have, too, the stream tells: what is there now may be too early.
	 */
	return r < 0 || sharer ? r : processes_add_maps(processes, process, &maps, time);
}

/* A process that the stream cannot follow any further begins anew with what /proc says. */
int processes_renew(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	uint32_t pid = process->pid;
	int r = put_exit(processes, process, time);

	return r < 0 ? r : add_from_proc(processes, pid, WIRE_origin_FOUND, time);
}

int processes_scan(struct processes *processes, uint32_t pid, uint64_t time)
{
	if (processes_find(processes, pid))
		return 0;
	return add_from_proc(processes, pid, WIRE_origin_SCANNED, time);
}

int processes_fork(struct processes *processes, const struct record_task *task, uint64_t time)
{
	struct tracked_process *parent, *sharer, *process = processes_find(processes, task->pid);
	uint64_t parent_upid;
	int r;

	if (task->pid == 0) /* outside of our PID namespace: nobody can be told apart there */
		return 0;
	if (process && time < process->known_since)
		return 0;
	if (task->pid == task->parent_pid) { /* a thread */
		if (process)
			process->n_threads++;
		return 0;
	}
	if (process) /* its exit was not seen */
		r = processes_end(processes, process, time);
	else
		r = 0;
	if (r < 0)
		return r;
	parent = processes_find(processes, task->parent_pid);
	parent_upid = parent ? parent->upid : 0;
	process = begin(processes, task->pid, parent ? parent->name : "");
	if (!process)
		return -ENOMEM;
	process->began = time;
	sharer = processes_note_shared(processes, process, parent);
	if (parent && !sharer) {
		mapping_table_share(&process->space->mappings, &parent->space->mappings);
		process->space->is_over_limit = parent->space->is_over_limit;
		processes_inherit_gaps(processes, process, parent, time);
	}
	r = put_process(processes, process, WIRE_origin_FORKED, parent_upid, sharer, time);
	if (r < 0 || !parent)
		return r;
	processes_inherit_account(processes, process, parent);
	process->cgroup = cgroup_share(parent->cgroup);
	if (parent->replaced) {
		process->replaced = malloc(sizeof(*process->replaced));
		if (!process->replaced)
			return -ENOMEM;
		*process->replaced = *parent->replaced;
	}
	if (sharer)
		return 0;
	return processes_own_anonymous(processes, process, parent->space->anonymous, time);
}

static int queue_exited(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	if (processes->n_exited == processes->n_exited_allocated) {
		size_t n = processes->n_exited ? processes->n_exited * 2 : 64;
		struct exited_process *queue = reallocarray(processes->exited, n, sizeof(*queue));

		if (!queue)
			return -ENOMEM;
		processes->exited = queue;
		processes->n_exited_allocated = n;
	}
	process->has_exited = true;
	processes->exited[processes->n_exited++] =
		(struct exited_process){ process->upid, time, process->pid };
	return 0;
}

int processes_exit(struct processes *processes, const struct record_task *task, uint64_t time)
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

int processes_bury(struct processes *processes, uint64_t time)
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

/* An exec: the same PID is another incarnation from here on. */
static int execute(struct processes *processes, const struct record_comm *comm, const char *name,
		   uint64_t time)
{
	struct tracked_process *process = processes_find(processes, comm->pid);
	uint64_t predecessor = process ? process->upid : 0;
	_cleanup_(cgroup_dropp) struct cgroup *cgroup =
		process ? cgroup_share(process->cgroup) : NULL;
	struct process_spending spending = { 0 };
	int r = 0;

	if (process) {
		spending = process->spending;
		r = put_exit(processes, process, time);
	}
	if (r < 0)
		return r;
	process = begin(processes, comm->pid, name);
	if (!process)
		return -ENOMEM;
	process->began = time;
	process->space->mapped_since = process->space->sure_since = time;
	process->spending = spending;
	r = put_process(processes, process, WIRE_origin_EXECUTED, predecessor, NULL, time);
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

int processes_comm(struct processes *processes, const struct record_comm *comm, uint64_t time)
{
	const char *name = record_text(&comm->header, sizeof(*comm));
	struct tracked_process *process = processes_find(processes, comm->pid);

	if (comm->pid == 0 || !name || (process && time < process->known_since))
		return 0;
	if (record_comm_is_exec(&comm->header))
		return execute(processes, comm, name, time);
	if (process && !processes_spend(processes, process, time))
		return 0;
	return processes_name_thread(processes, comm->pid, comm->tid, name, time);
}

/* What is mapped to be executed; false: something else, or nobody's. */
static bool mapped_code(const struct processes *processes, const struct record_mmap2 *mmap,
			struct image_source *ret)
{
	*ret = (struct image_source){
		.task = mmap->tid,
		.start = mmap->start,
		.length = mmap->length,
		.path = record_text(&mmap->header, sizeof(*mmap)),
	};
	if (mmap->pid == 0 || !ret->path || !(mmap->protection & PROT_EXEC))
		return false;
	if (record_mmap_has_build_id(mmap)) {
		ret->build_id_size = record_mmap_build_id(mmap, &ret->build_id);
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
		    const struct image_source *source, uint64_t offset, uint64_t time)
{
	processes_note_mapped(processes, process, time);
	if (time < process->space->mapped_since)
		return 0;
	if (process->space->mappings.n >= MAPPING_TABLE_MAX - 2)
		return processes_make_room(processes, process, time);
	return processes_add_mapping(processes, process, source, offset, time);
}

static int map_into_others(struct processes *processes, uint32_t pid, uint64_t group,
			   const struct image_source *source, uint64_t offset, uint64_t time)
{
	struct tracked_process *process, *next;
	int r = 0;

	HASH_ITER(hh, processes->by_pid, process, next)
	{
		if (r == 0 && process->space->group == group && process->pid != pid &&
		    processes_spend(processes, process, time))
			r = map_into(processes, process, source, offset, time);
	}
	return r;
}

int processes_mmap(struct processes *processes, const struct record_mmap2 *mmap, uint64_t time)
{
	uint64_t group;
	struct tracked_process *process = processes_find(processes, mmap->pid);
	struct image_source source;
	int r;

	/* Of a storm nothing is looked at but whose it is. */
	if ((process && !processes_spend(processes, process, time)) ||
	    !mapped_code(processes, mmap, &source))
		return 0;
	if (!process) {
		r = add_from_proc(processes, mmap->pid, WIRE_origin_FOUND, time);
		if (r < 0)
			return r;
		process = processes_find(processes, mmap->pid);
	}
	group = process->space->group; /* it may be another incarnation then */
	if (time >= process->known_since) {
		r = processes_note_replaced(processes, process, &source,
					    mmap->protection & PROT_WRITE);
		if (r < 0)
			return r;
	}
	r = map_into(processes, process, &source, mmap->offset, time);
	if (r == 0 && !group)
		r = processes_find_memory(processes, mmap->pid, source.start, time, &group);
	if (r < 0 || !group)
		return r;
	return map_into_others(processes, mmap->pid, group, &source, mmap->offset, time);
}

static bool is_new_code(const struct processes *processes, const struct record_mmap2 *mmap)
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
					    : !images_knows(processes->images, &source);
}

bool processes_is_news(const struct processes *processes, const struct perf_event_header *event)
{
	const struct record_task *task = (const void *)event;

	if (!record_is_whole(event))
		return false;
	switch (event->type) {
	case PERF_RECORD_FORK:
		return task->pid != task->parent_pid;
	case PERF_RECORD_COMM:
		return record_comm_is_exec(event);
	case PERF_RECORD_MMAP2:
		return is_new_code(processes, (const void *)event);
	default:
		return false;
	}
}

int processes_of_sample(struct processes *processes, uint32_t pid, uint64_t address, uint64_t time,
			uint64_t *ret_upid)
{
	struct tracked_process *process;
	int r;

	if (pid == 0 &&
	    address) /* the idle task has no user side: it is outside of our namespace */
		pid = PID_UNKNOWN;
	process = processes_find(processes, pid);
	if (process && process->space->is_over_limit)
		address = 0; /* nothing is to be found out */
	if (!process) {
		r = add_from_proc(processes, pid, WIRE_origin_FOUND, time);
		if (r < 0)
			return r;
		process = processes_find(processes, pid);
	} else if (address && processes_wants_mending(processes, process, time)) {
		r = processes_mend(processes, process, time);
		if (r < 0)
			return r;
		process = processes_find(processes, pid);
	} else if (address && !process->has_exited &&
		   !processes_is_moving(processes, process, time) &&
		   !mapping_table_find(&process->space->mappings, address) &&
		   processes_may_reread(processes, process, time)) {
		r = processes_reread(processes, process, time);
		if (r < 0 && r != -ESRCH)
			return r;
		process = processes_find(processes, pid);
	} else if (address) {
		r = processes_look_again(processes, process, address, time);
		if (r < 0)
			return r;
	}
	*ret_upid = process->upid;
	return 0;
}

int processes_meet(struct processes *processes, uint32_t pid, enum wire_origin origin,
		   uint64_t time, uint64_t *ret_upid)
{
	struct tracked_process *process = processes_find(processes, pid);
	int r = process ? processes_end(processes, process, time) : 0;

	if (r == 0)
		r = add_from_proc(processes, pid, origin, time);
	process = processes_find(processes, pid);
	*ret_upid = process ? process->upid : 0;
	return r;
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
