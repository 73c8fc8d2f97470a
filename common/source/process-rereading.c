/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of a process is held against what it has mapped now: after a loss, at an address
 * that nothing holds, when its table is full, and when files were written to.
 */
#include <errno.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/source/processes-internal.h"

/*
 * Reads the maps of a known process again. If nothing of what was known is there any more, an
 * exec was missed. -ESRCH: there is no such process, or another one by now.
 */
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
	processes_note_size(processes, process, began);
	if (r < 0)
		return r == -ETIMEDOUT ? 0 : r;
	/* A zombie, or a kernel thread: it shows nothing, and nothing is learnt. */
	if (!ret_maps->n)
		return 0;
	for (size_t i = 0; i < ret_maps->n && !any_known; i++) {
		const struct mapping *old =
			mapping_table_find(&process->space->mappings, ret_maps->list[i].start);

		any_known = old && old->start == ret_maps->list[i].start &&
			    old->offset == ret_maps->list[i].offset;
	}
	if (any_known)
		return processes_add_maps(processes, process, ret_maps, time);
	return processes_renew(processes, process, time);
}

/* It is told of what is mapped now at a time before: until then that may be too early. */
int processes_reread(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	uint32_t pid = process->pid;
	uint64_t began = clock_now(CLOCK_MONOTONIC), ended;
	int r = read_again_into(processes, process, time, &maps);

	ended = clock_now(CLOCK_MONOTONIC);
	process = processes_find(processes, pid); /* it may have begun anew */
	if (process)
		process->space->sure_since = ended;
	if (ended - began >= PROCESSES_REREAD_LARGE_NS)
		processes->reread_at = ended + (ended - began) * PROCESSES_REREAD_SHARE;
	return r;
}

void processes_note_size(struct processes *processes, struct tracked_process *process,
			 uint64_t began)
{
	bool is_large = clock_now(CLOCK_MONOTONIC) - began >= PROCESSES_REREAD_LARGE_NS;

	if (is_large && !process->space->is_large)
		processes->large_pids[processes->n_large++ % PROCESSES_LARGE_MAX] = process->pid;
	process->space->is_large = is_large;
}

/*
 * Of a process that maps without end little is to be learnt; of those that have much mapped no more
 * than in a part of the time.
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

/* Whether any of a mapping is among those that were read, which are in order. */
static bool is_mapped(const struct mapping *mapping, const struct proc_maps *maps)
{
	size_t low = 0, high = maps->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (maps->list[middle].end <= mapping->start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < maps->n && maps->list[low].start < mapping->end;
}

/* Tells of what is not mapped any more. */
static int remove_unmapped(struct processes *processes, struct tracked_process *process,
			   const struct proc_maps *maps, uint64_t time)
{
	struct mapping_table *mappings = &process->space->mappings;
	const struct mapping *known;
	int r = 0;

	for (uint64_t at = 0; r == 0 && (known = mapping_table_next(mappings, at));) {
		const struct mapping nothing = { .start = known->start, .end = known->end };

		at = known->end;
		if (is_mapped(known, maps))
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
	process = processes_find(processes, pid); /* it may have begun anew */
	return process && maps.n ? remove_unmapped(processes, process, &maps, time) : -ESRCH;
}

/* Full of what was mapped once: there is no event when it goes. */
int processes_make_room(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	uint32_t pid = process->pid;
	int r;

	if (process->space->n_members > 1)
		r = processes_read_again(processes, pid, time);
	else
		r = processes_renew(processes, process, time);
	process = processes_find(processes, pid);
	if (r < 0 && r != -ESRCH)
		return r;
	if (!process || process->space->mappings.n <= MAPPING_TABLE_MAX / 4 * 3)
		return 0;
	return processes_give_up(processes, process, time); /* it would be full again at once */
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
			continue; /* a sweep finds out whether this member is still there */
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

/* Tells of mappings again whose files were written to. */
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
