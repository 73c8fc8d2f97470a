/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives mappings of processes their images and numbers, and emits them. */
#include <errno.h>

#include "common/source/processes-internal.h"
#include "common/stream/jit-memory.h"

/* Anonymous mappings that a child gets as its own; they are emitted again at each fork. */
enum { FORKED_ANONYMOUS_MAX = 1024 };

/* Whether the table already contains exactly this mapping. */
static bool has_mapping(const struct tracked_process *process, const struct mapping *mapping)
{
	const struct mapping *old = mapping_table_find(&process->space->mappings, mapping->start);

	return old && old->start == mapping->start && old->end == mapping->end &&
	       old->offset == mapping->offset && old->image == mapping->image;
}

/* The PID under which /proc shows a process; 0: none. */
static uint32_t proc_pid(const struct processes *processes, const struct tracked_process *process)
{
	return processes->proc.shows(process->pid) ? process->pid : 0;
}

static int find_anonymous(struct processes *processes, struct tracked_process *process,
			  uint64_t *ret_image)
{
	int r = 0;

	if (!process->space->anonymous)
		r = images_add_anonymous(processes->images, proc_pid(processes, process),
					 process->began, &process->space->anonymous);
	*ret_image = process->space->anonymous;
	return r;
}

static int find_image(struct processes *processes, struct tracked_process *process,
		      const struct image_source *source, uint64_t *ret_image, uint32_t *ret_flags)
{
	int r;

	*ret_flags = 0;
	if (images_is_anonymous(source))
		return find_anonymous(processes, process, ret_image);
	r = images_find(processes->images, source, ret_image, ret_flags);
	if (r == 0 && jit_memory_is_path(source->path))
		images_offer_map(processes->images, *ret_image, proc_pid(processes, process),
				 process->began);
	return r;
}

int processes_put_new_mapping(struct processes *processes, struct tracked_process *process,
			      struct mapping *mapping, uint32_t flags, uint64_t time)
{
	int r;

	if (has_mapping(process, mapping))
		return 0;
	mapping->number = processes->n_mappings;
	r = mapping_table_add(&process->space->mappings, mapping);
	if (r == -EINVAL || r == -ENOSPC) {
		++*counters_get(&processes->stage->counters, "refused", "mapping");
		return 0;
	}
	if (r < 0)
		return r;
	processes->n_mappings++;
	r = processes_put_mapping(processes, process->upid, mapping, flags, time);
	return r < 0 ? r : processes_keep_within_limit(processes, time);
}

/*
 * Adds what is mapped at `source` to a process. The offset in anonymous memory is the address, as
 * in the kernel: perf reports the address, but /proc 0.
 */
int processes_add_mapping(struct processes *processes, struct tracked_process *process,
			  const struct image_source *source, uint64_t time)
{
	struct mapping mapping = {
		.start = source->start,
		.end = source->start + source->length,
		.offset = images_is_anonymous(source) ? source->start : source->offset,
	};
	uint32_t flags;
	int r;

	if (process->space->is_over_limit)
		return 0;
	r = find_image(processes, process, source, &mapping.image, &flags);
	return r < 0 ? r : processes_put_new_mapping(processes, process, &mapping, flags, time);
}

struct image_source processes_source_of(const struct proc_maps *maps,
					const struct proc_mapping *mapping)
{
	return (struct image_source){
		.task = maps->task,
		.start = mapping->start,
		.length = mapping->end - mapping->start,
		.offset = mapping->offset,
		.major = mapping->major,
		.minor = mapping->minor,
		.inode = mapping->inode,
		.path = mapping->path,
	};
}

/* Counts the mappings of an image. */
struct census {
	uint64_t image;
	size_t n;
};

static bool count_in_image(const struct mapping *mapping, void *arg)
{
	struct census *census = arg;

	census->n += mapping->image == census->image;
	return false;
}

int processes_own_anonymous(struct processes *processes, struct tracked_process *child,
			    uint64_t inherited, uint64_t time)
{
	struct census census = { .image = inherited };
	const struct mapping *known;
	int r = 0;

	if (!inherited)
		return 0;
	mapping_table_any(&child->space->mappings, ++processes->n_questions, count_in_image,
			  &census);
	if (census.n > FORKED_ANONYMOUS_MAX)
		return processes_give_up(processes, child, time);
	for (uint64_t at = 0;
	     r == 0 && (known = mapping_table_next(&child->space->mappings, at));) {
		struct mapping mapping = *known;

		at = known->end;
		if (mapping.image != inherited)
			continue;
		r = find_anonymous(processes, child, &mapping.image);
		if (r == 0)
			r = processes_put_new_mapping(processes, child, &mapping, 0, time);
	}
	return r;
}
