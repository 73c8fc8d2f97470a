/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads mappings from /proc: when a process is first seen, after a loss of records, at an address
 * outside every known mapping, and when its table is full. Also follows changed files.
 */
#include <errno.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/source/processes-internal.h"

/* Notes whether reading the maps, since `began` (CLOCK_MONOTONIC), took long. */
static void note_size(struct processes *processes, struct tracked_process *process, uint64_t began)
{
	bool is_large = clock_now(CLOCK_MONOTONIC) - began >= PROCESSES_REREAD_LARGE_NS;

	if (is_large && !process->space->is_large)
		processes->large_pids[processes->n_large++ % PROCESSES_LARGE_MAX] = process->pid;
	process->space->is_large = is_large;
}

/* Emits the mappings that /proc shows and that are not known yet. */
static int add_maps(struct processes *processes, struct tracked_process *process,
		    const struct proc_maps *maps, uint64_t time)
{
	size_t n_known = process->space->mappings.n;

	if (maps->n > n_known && !processes_spend_maps(processes, process, maps->n - n_known, time))
		return processes_give_up(processes, process, time);
	if (maps->n_refused)
		*counters_get(&processes->stage->counters, "refused", "mapping") += maps->n_refused;
	return processes_add_shown(processes, process, maps, false, time);
}

static int count_thread(uint32_t tid, void *arg)
{
	return 0;
}

/* Reads the rest from /proc. Returns the process that it shares memory with, or NULL. */
static struct tracked_process *read_rest(struct processes *processes,
					 struct tracked_process *process,
					 struct tracked_process *sharer)
{
	uint32_t pid = process->pid;

	process->began = processes->proc.find_start(pid);
	process->own_pid = processes->proc.find_own_pid(pid);
	if (!sharer)
		return processes_note_shared(
			processes, process,
			processes_find(processes, processes->proc.find_parent(pid)));
	processes_join_space(process, sharer); /* what is known of one memory is known of both */
	return sharer;
}

int processes_add_from_proc(struct processes *processes, uint32_t pid, enum wire_origin origin,
			    uint64_t time)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	struct tracked_process *process, *sharer = processes_find_sharer(processes, pid);
	char name[PROC_NAME_MAX] = "";
	/* Changes during reading may be missed. Threads come first, because they are counted. */
	uint64_t before = clock_now(CLOCK_MONOTONIC);
	int n_threads = processes->proc.each_thread(pid, count_thread, NULL);
	int r = !sharer ? processes_read_maps(processes, pid, &maps)
			: (processes_is_changing(processes, pid) ? -ESRCH : 0);
	uint64_t after = clock_now(CLOCK_MONOTONIC);

	if (r == -ENOMEM || (r < 0 && origin == WIRE_origin_SCANNED))
		return r == -ENOMEM ? r : 0;
	if (r == 0 || r == -ETIMEDOUT)
		processes->proc.read_name(pid, name);
	else if (pid == 0)
		strcpy(name, "swapper");
	process = processes_begin(processes, pid, name);
	if (!process)
		return -ENOMEM;
	process->space->read_at = before;
	if (r == 0) {
		process->known_since = before;
		process->space->mapped_since = maps.n ? before : 0;
		process->space->sure_since = after;
		note_size(processes, process, before);
		process->n_threads = n_threads > 0 ? n_threads : 1;
		sharer = read_rest(processes, process, sharer);
	}
	r = processes_put_process(processes, process, origin, 0, sharer, time);
	if (r == 0)
		r = processes_find_cgroup(processes, process, NULL, time);
	if (r == 0)
		r = processes_name_threads(processes, process, time);
	/* The stream reports shared memory: what /proc shows now may be too early. */
	return r < 0 || sharer ? r : add_maps(processes, process, &maps, time);
}

/* Ends a process that can no longer be followed, and begins another from what /proc shows. */
static int restart(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	uint32_t pid = process->pid;
	int r = processes_end(processes, process, time);

	return r < 0 ? r : processes_add_from_proc(processes, pid, WIRE_origin_FOUND, time);
}

static int read_again_into(struct processes *processes, struct tracked_process *process,
			   uint64_t time, struct proc_maps *ret_maps)
{
	bool any_known = process->space->mappings.n == 0;
	uint64_t began = clock_now(CLOCK_MONOTONIC);
	int r;

	if (process->space->is_over_limit)
		return 0;
	process->space->read_at = began;
	processes->n_rereads++;
	r = processes_read_maps(processes, process->pid, ret_maps);
	note_size(processes, process, began);
	if (r < 0)
		return r == -ETIMEDOUT ? 0 : r;
	/* A zombie or kernel thread shows no mapping, which proves nothing. */
	if (!ret_maps->n)
		return 0;
	for (size_t i = 0; i < ret_maps->n && !any_known; i++) {
		const struct mapping *old =
			mapping_table_find(&process->space->mappings, ret_maps->list[i].start);

		any_known = old && old->start == ret_maps->list[i].start &&
			    old->offset == ret_maps->list[i].offset;
	}
	if (any_known)
		return add_maps(processes, process, ret_maps, time);
	return restart(processes, process, time);
}

/* Emits current mappings with an earlier time; samples before the end of reading are unsure. */
int processes_reread(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	uint32_t pid = process->pid;
	uint64_t began = clock_now(CLOCK_MONOTONIC), ended;
	int r = read_again_into(processes, process, time, &maps);

	ended = clock_now(CLOCK_MONOTONIC);
	process = processes_find(processes, pid); /* it may be another incarnation now */
	if (process)
		process->space->sure_since = ended;
	if (ended - began >= PROCESSES_REREAD_LARGE_NS)
		processes->reread_at = ended + (ended - began) * PROCESSES_REREAD_SHARE;
	return r;
}

/*
 * Reading again is of little use for a process that maps all the time; and large maps may take only
 * a part of the time.
 */
bool processes_may_reread(const struct processes *processes, const struct tracked_process *process,
			  uint64_t time)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	uint64_t pause =
		processes_is_storming(process, time) ? NANOSECONDS_A_SECOND : PROCESSES_REREAD_NS;

	return now - process->space->read_at >= pause &&
	       (!process->space->is_large || now >= processes->reread_at);
}

/* Emits the removal of what is no longer mapped. Both lists are sorted by address. */
static int remove_unmapped(struct processes *processes, struct tracked_process *process,
			   const struct proc_maps *maps, uint64_t time)
{
	struct mapping_table *mappings = &process->space->mappings;
	const struct mapping *known;
	size_t i = 0;
	int r = 0;

	for (uint64_t at = 0; r == 0 && (known = mapping_table_next(mappings, at));) {
		const struct mapping nothing = { .start = known->start, .end = known->end };

		at = known->end;
		while (i < maps->n && maps->list[i].end <= known->start)
			i++;
		if (i < maps->n && maps->list[i].start < known->end)
			continue;
		r = processes_put_mapping(processes, process->upid, &nothing, 0, time);
		if (r == 0)
			r = mapping_table_remove(mappings, nothing.start, nothing.end);
	}
	return r;
}

int processes_read_again(struct processes *processes, uint32_t pid, uint64_t time)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	struct tracked_process *process = processes_find(processes, pid);
	int r = process ? read_again_into(processes, process, time, &maps) : -ESRCH;

	if (r < 0)
		return r;
	process = processes_find(processes, pid); /* it may be another incarnation now */
	return process && maps.n ? remove_unmapped(processes, process, &maps, time) : -ESRCH;
}

/* The table is full of old mappings, because the kernel does not report munmap(2). */
int processes_make_room(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	uint32_t pid = process->pid;
	int r;

	if (process->space->n_members > 1)
		r = processes_read_again(processes, pid, time);
	else
		r = restart(processes, process, time);
	process = processes_find(processes, pid);
	if (r < 0 && r != -ESRCH)
		return r;
	if (!process || process->space->mappings.n <= MAPPING_TABLE_MAX / 4 * 3)
		return 0;
	return processes_give_up(processes, process, time); /* it would soon be full again */
}

int processes_read_all_again(struct processes *processes, uint64_t time)
{
	struct tracked_process *process, *next;
	int r;

	processes->n_questions++;
	HASH_ITER(hh, processes->by_pid, process, next)
	{
		if (!processes->proc.shows(process->pid))
			continue;
		if (process->space->looked_at == processes->n_questions)
			continue; /* a sweep finds out whether this member is alive */
		process->space->looked_at = processes->n_questions;
		r = processes_reread(processes, process, time);
		if (r == -ESRCH && !processes_is_changing(processes, process->pid))
			r = processes_end(processes, process, time);
		if (r < 0 && r != -ESRCH)
			return r;
	}
	return 0;
}

static bool has_another_image(const struct mapping *mapping, void *images)
{
	return images_current(images, mapping->image) != mapping->image;
}

/* Emits mappings of files that were written to again, with their new images. */
static int follow_images(struct processes *processes, struct tracked_process *process,
			 uint64_t time)
{
	const struct mapping *known;
	int r = 0;

	if (!mapping_table_any(&process->space->mappings, processes->n_questions, has_another_image,
			       processes->images))
		return 0;
	for (uint64_t at = 0;
	     r == 0 && (known = mapping_table_next(&process->space->mappings, at));) {
		struct mapping mapping = *known;

		at = known->end;
		mapping.image = images_current(processes->images, mapping.image);
		r = processes_put_new_mapping(processes, process, &mapping, 0, time);
	}
	return r;
}

int processes_follow_images(struct processes *processes, uint64_t time)
{
	struct tracked_process *process, *next;
	int r = 0;

	if (processes->n_images_followed == processes->images->n_replaced)
		return 0;
	processes->n_images_followed = processes->images->n_replaced;
	processes->n_questions++;
	HASH_ITER(hh, processes->by_pid, process, next)
	{
		r = follow_images(processes, process, time);
		if (r < 0)
			break;
	}
	return r;
}
