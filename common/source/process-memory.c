/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds what events do not report of a process's memory: that it is shared with another process,
 * and that code was moved by mremap(2).
 */
#include <errno.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/source/processes-internal.h"

enum {
	SHARERS_MAX = 8,      /* processes tried one after the other */
	UNSURE_LOOKS_MAX = 8, /* looks into a parent's maps for what its child has mapped */
};

void processes_drop_compared(struct processes *processes)
{
	proc_maps_deinit(&processes->compared.maps);
	processes->compared.space = 0;
}

/* Both were emitted with separate memories: mappings of either are emitted for both from now on. */
static void share_late(struct tracked_process *process, struct tracked_process *parent)
{
	if (!parent->space->group)
		parent->space->group = parent->upid;
	process->space->group = parent->space->group;
	process->unsure_parent = 0;
}

/* Another process that has, or may have, the same memory as `gone`, or NULL. */
static struct tracked_process *find_sharer(const struct processes *processes,
					   const struct tracked_process *gone)
{
	struct tracked_process *process, *next;

	if (gone->unsure_parent)
		return processes_find(processes, gone->unsure_parent);
	if (gone->space->n_members < 2 &&
	    !gone->space->group) /* the common case: saves a search through all processes */
		return NULL;
	HASH_ITER(hh, processes->by_pid, process, next)
	{
		if (process != gone && !process->has_exited &&
		    (process->space == gone->space ||
		     (gone->space->group && process->space->group == gone->space->group)))
			return process;
	}
	return NULL;
}

/*
 * A child of vfork(2) may have ended or executed a program already, and a parent may exit before
 * its child is examined: then another process with the parent's memory is tried.
 */
struct tracked_process *processes_note_shared(struct processes *processes,
					      struct tracked_process *process,
					      struct tracked_process *parent)
{
	const uint32_t first = parent ? parent->pid : 0;
	int r = -ESRCH;

	if (!parent || !processes->proc.is_mapping)
		return NULL;
	for (int i = 0; r < 0 && parent && i < SHARERS_MAX; i++) {
		r = proc_share_memory(process->pid, parent->pid);
		if (r < 0)
			parent = find_sharer(processes, parent);
	}
	if (r > 0) {
		processes_join_space(process, parent);
		return parent;
	}
	if (r < 0 || processes_is_changing(processes, process->pid))
		process->unsure_parent = first;
	return NULL;
}

struct tracked_process *processes_find_sharer(struct processes *processes, uint32_t pid)
{
	struct tracked_process *other;

	if (!processes->proc.is_mapping)
		return NULL;
	other = processes_find(processes, processes->proc.find_parent(pid));
	if (other && proc_share_memory(pid, other->pid) > 0)
		return other;
	for (size_t i = 0; i < PROCESSES_LARGE_MAX; i++) {
		other = processes->large_pids[i]
				? processes_find(processes, processes->large_pids[i])
				: NULL;
		if (other && other->pid != pid && proc_share_memory(pid, other->pid) > 0)
			return other;
	}
	return NULL;
}

/*
 * Whether /proc shows the known mapping at an address. A process of a container has other paths
 * there than in events, and a file that was written to has another image.
 */
static bool is_as_known(const struct tracked_process *process, const struct images *images,
			const struct mapping *known, const struct image_source *source)
{
	if (images_is_anonymous(source))
		return known->image == process->space->anonymous ||
		       processes_is_replaced_text(process, source);
	return images_is_file(images, known->image)
		       ? images_may_be_file(images, known->image, source) &&
				 known->start - known->offset == source->start - source->offset
		       : *source->path == '['; /* mappings made by the kernel never move */
}

/* Whether /proc shows that `process` has the mapping `known` of `other` at an address. */
static int has_mapped(struct processes *processes, const struct tracked_process *process,
		      const struct tracked_process *other, const struct mapping *known,
		      uint64_t address)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	int r = processes_read_maps(processes, process->pid, &maps);

	for (size_t i = 0; r == 0 && i < maps.n; i++) {
		const struct image_source source = processes_source_of(&maps, &maps.list[i]);

		if (maps.list[i].start <= address && address < maps.list[i].end)
			return is_as_known(other, processes->images, known, &source);
	}
	return r == -ENOMEM ? r : 0;
}

/*
 * The mapping of a process at an address, or NULL if none, or if its parent had the same before:
 * that proves nothing, because the child may have mapped it again for itself.
 */
static const struct mapping *find_news(const struct tracked_process *process,
				       const struct tracked_process *parent, uint64_t address)
{
	const struct mapping *known = mapping_table_find(&process->space->mappings, address);
	const struct mapping *had = mapping_table_find(&parent->space->mappings, address);

	return known && had && had->image == known->image &&
			       had->start - had->offset == known->start - known->offset
		       ? NULL
		       : known;
}

/* Without a look the mappings of both are unsure. */
static int look_at_parent(struct processes *processes, struct tracked_process *process,
			  struct tracked_process *parent, uint64_t address, uint64_t time)
{
	const struct mapping *news = find_news(process, parent, address);
	uint64_t begun;
	int r = 0;

	if (news && !processes_may_look(process, time)) {
		process->space->lost_until = parent->space->lost_until = time;
		return 0;
	}
	if (news) {
		begun = clock_now(CLOCK_MONOTONIC);
		r = has_mapped(processes, parent, process, news, address);
		processes_spend_look(process, clock_now(CLOCK_MONOTONIC) - begun);
	}
	if (r > 0)
		share_late(process, parent);
	else if (++process->n_unsure_looks == UNSURE_LOOKS_MAX)
		process->unsure_parent = 0;
	return r;
}

/* If a child could not be examined at its start, its new mappings show whether it shares memory. */
int processes_find_memory(struct processes *processes, uint32_t pid, uint64_t address,
			  uint64_t time, uint64_t *ret)
{
	struct tracked_process *process = processes_find(processes, pid), *parent = NULL;
	int r = 0;

	if (process && process->unsure_parent)
		parent = processes_find(processes, process->unsure_parent);
	if (parent)
		r = look_at_parent(processes, process, parent, address, time);
	*ret = process ? process->space->group : 0;
	return r < 0 ? r : 0;
}

/* Emits the removal of known mappings where something else lies now. */
static int forget_moved(struct processes *processes, struct tracked_process *process,
			const struct image_source *now, uint64_t time)
{
	struct mapping_table *mappings = &process->space->mappings;
	uint64_t end = now->start + now->length, at = now->start;
	const struct mapping *known;
	int r = 0;

	while (r == 0 && at < end && (known = mapping_table_next(mappings, at)) &&
	       known->start < end) {
		const struct mapping nothing = {
			.start = known->start > now->start ? known->start : now->start,
			.end = known->end < end ? known->end : end,
		};

		at = nothing.end;
		if (is_as_known(process, processes->images, known, now))
			continue;
		processes->n_moved++;
		r = processes_put_mapping(processes, process->upid, &nothing, 0, time);
		if (r == 0)
			r = mapping_table_remove(mappings, nothing.start, nothing.end);
	}
	return r;
}

/*
 * Code may move without an event (mremap(2)). If no event is pending, a difference between /proc
 * and the stream is such a move since the last comparison: the address counts as unknown until the
 * stream reaches the time of reading.
 */
static int find_moved(struct processes *processes, struct tracked_process *process,
		      const struct proc_maps *maps, uint64_t time)
{
	int r = 0;

	for (size_t i = 0; i < maps->n && r == 0; i++) {
		const struct image_source source = processes_source_of(maps, &maps->list[i]);

		r = forget_moved(processes, process, &source, time);
	}
	return r;
}

static int read_to_compare(struct processes *processes, struct tracked_process *process,
			   uint64_t time)
{
	struct maps_to_compare *compared = &processes->compared;
	int r;

	compared->space = process->space->number;
	compared->began = clock_now(CLOCK_MONOTONIC);
	r = processes_read_maps(processes, process->pid, &compared->maps);
	compared->ended = clock_now(CLOCK_MONOTONIC);
	if (r == 0 && !processes->proc.is_mapping(process->pid, processes->proc.arg))
		return find_moved(processes, process, &compared->maps, time);
	processes_drop_compared(processes);
	return r == -ENOMEM ? r : 0;
}

/*
 * Delays the next comparison according to its share of time: of CPU time, because waiting for a
 * busy CPU costs nothing.
 */
static void rest_from_comparing(struct processes *processes, uint64_t cpu_began)
{
	uint64_t pause =
		(clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu_began) * PROCESSES_COMPARE_SHARE;

	processes->compare_at = clock_now(CLOCK_MONOTONIC) +
				(pause > PROCESSES_COMPARE_NS ? pause : PROCESSES_COMPARE_NS);
}

/*
 * At a sample: applies the maps read earlier, once the stream has reached their time, and reads
 * maps again. Processes with the most samples come first that way.
 */
static int compare_maps(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	const struct maps_to_compare *compared = &processes->compared;
	uint64_t cpu_began;
	int r = 0;

	if (compared->space && time < compared->ended)
		return 0;
	if (compared->space == process->space->number) {
		r = processes_add_shown(processes, process, &compared->maps, true, time);
		processes->n_compared++;
	} else if (compared->space && time - compared->ended < PROCESSES_COMPARE_NS) {
		return 0; /* the process of these maps may be sampled again */
	}
	processes_drop_compared(processes);
	if (r < 0 || clock_now(CLOCK_MONOTONIC) < processes->compare_at || process->has_exited)
		return r;
	cpu_began = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	r = read_to_compare(processes, process, time);
	rest_from_comparing(processes, cpu_began);
	return r;
}

void processes_note_mapped(struct processes *processes, const struct tracked_process *process,
			   uint64_t time)
{
	if (processes->compared.space == process->space->number &&
	    time >= processes->compared.began)
		processes_drop_compared(processes);
}

int processes_look_again(struct processes *processes, struct tracked_process *process,
			 uint64_t address, uint64_t time)
{
	int r = processes_compare_text(processes, process, address, time);

	if (r == 0 && processes->proc.is_mapping)
		r = compare_maps(processes, process, time);
	return r;
}

bool processes_is_moving(const struct processes *processes, const struct tracked_process *process,
			 uint64_t time)
{
	return processes->compared.space == process->space->number &&
	       time < processes->compared.ended;
}
