/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/stream/process-table.h"

/* Gives all members of the address space new versions, none of which was ever used before. */
static void refresh_version(struct process_table *table, struct address_space *space)
{
	space->version = table->n_versions + 1;
	table->n_versions += space->n_members;
}

static void join(struct process_table *table, struct process *process, struct address_space *space)
{
	process->space = space;
	process->space_member = space->n_members++;
	space->n_living++;
	refresh_version(table, space);
}

static void leave(struct process *process)
{
	struct address_space *space = process->space;

	process->space = NULL;
	if (!space || --space->n_living)
		return;
	mapping_table_deinit(&space->mappings);
	free(space);
}

/* 0 or -ENOMEM */
static int join_new(struct process_table *table, struct process *process)
{
	struct address_space *space = calloc(1, sizeof(*space));

	if (!space)
		return -ENOMEM;
	space->mappings.pool = &table->mappings;
	join(table, process, space);
	return 0;
}

static void forget(struct process_table *table, struct process *process)
{
	if (table->forget)
		table->forget(process, table->arg);
	HASH_DEL(table->by_number, process);
	leave(process);
	cgroup_drop(process->cgroup);
	free(process);
}

void process_table_deinit(struct process_table *table)
{
	struct process *process, *next;

	HASH_ITER(hh, table->by_number, process, next)
	forget(table, process);
	mapping_table_deinit(&table->kernel_space.mappings);
}

struct process *process_table_find(const struct process_table *table, uint64_t number)
{
	struct process *process;

	HASH_FIND(hh, table->by_number, &number, sizeof(number), process);
	return process;
}

/* Sets up the initial mappings. 0 or -ENOMEM. */
static int begin_space(struct process_table *table, struct process *process,
		       const struct wire_process *record)
{
	const struct process *sharer = process_table_find(table, record->memory);
	const struct process *parent = process_table_find(table, record->parent);
	int r;

	if (sharer && sharer->space) {
		join(table, process, sharer->space);
		return 0;
	}
	r = join_new(table, process);
	if (r < 0 || record->origin != WIRE_origin_FORKED || !parent)
		return r;
	mapping_table_share(&process->space->mappings, process_mappings(parent));
	process->space->is_over_limit = process_is_over_limit(parent);
	return 0;
}

int process_table_add(struct process_table *table, const struct wire_process *record)
{
	struct process *process, *parent;

	if (process_table_find(table, record->process) || record->process == 0 ||
	    HASH_COUNT(table->by_number) >= PROCESS_TABLE_MAX) {
		table->n_refused++;
		return 0;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->number = record->process;
	process->pid = record->pid;
	process->origin = record->origin;
	process->began = record->began;
	process->own_pid = record->own_pid;
	snprintf(process->name, sizeof(process->name), "%s", record->name.data);
	HASH_ADD(hh, table->by_number, number, sizeof(process->number), process);
	if (!HASH_HAS(hh, process)) {
		free(process);
		return -ENOMEM;
	}
	parent = process_table_find(table, record->parent);
	if (record->origin == WIRE_origin_FORKED && parent)
		process->cgroup = cgroup_share(parent->cgroup);
	return begin_space(table, process, record);
}

int process_table_set_cgroup(struct process_table *table, const struct wire_cgroup *record)
{
	struct process *process = process_table_find(table, record->process);

	if (!process) {
		table->n_refused++;
		return 0;
	}
	cgroup_drop(process->cgroup);
	process->cgroup = record->path.size ? cgroup_new(record->path.data) : NULL;
	return record->path.size && !process->cgroup ? -ENOMEM : 0;
}

static struct address_space *find_space(struct process_table *table, uint64_t number)
{
	struct process *process = process_table_find(table, number);

	if (number)
		return process ? process->space : NULL;
	table->kernel.space = &table->kernel_space;
	table->kernel_space.n_members = 1;
	return &table->kernel_space;
}

static void give_up(struct address_space *space)
{
	mapping_table_deinit(&space->mappings);
	space->is_over_limit = true;
}

int process_table_map(struct process_table *table, const struct wire_mapping *record)
{
	struct address_space *space = find_space(table, record->process);
	struct mapping mapping = {
		.start = record->start,
		.end = record->start + record->length,
		.offset = record->offset,
		.image = record->image,
		.number = record->mapping,
	};
	int r;

	if (!space || (space->is_over_limit && record->image)) {
		table->n_refused++;
		return 0;
	}
	refresh_version(table, space);
	if (record->flags & WIRE_mapping_flags_LIMIT) {
		give_up(space);
		return 0;
	}
	r = record->image ? mapping_table_add(&space->mappings, &mapping)
			  : mapping_table_remove(&space->mappings, mapping.start, mapping.end);
	if (r == -ENOMEM)
		return r;
	if (table->mappings.n_bytes > PROCESS_TABLE_MAPPINGS_MAX) {
		give_up(space);
		r = -ENOSPC;
	}
	table->n_refused += r < 0;
	return 0;
}

/* The main thread's name is the process's; names of other threads are ignored. */
void process_table_rename(struct process_table *table, const struct wire_thread *record)
{
	struct process *process = process_table_find(table, record->process);

	if (process && record->tid == process->pid)
		snprintf(process->name, sizeof(process->name), "%s", record->name.data);
}

void process_table_exit(struct process_table *table, const struct wire_process_exit *record)
{
	struct process *process = process_table_find(table, record->process);

	if (process)
		forget(table, process);
}

const struct mapping *process_table_mapping(const struct process_table *table,
					    const struct process *process,
					    const struct wire_frame *frame)
{
	if (process_table_shares(frame))
		process = &table->kernel;
	return process ? mapping_table_find(process_mappings(process), frame_code(frame)) : NULL;
}

bool process_table_place(const struct process_table *table, const struct process *process,
			 const struct wire_frame *frame, uint64_t *ret_image, uint64_t *ret_offset)
{
	const struct mapping *mapping = process_table_mapping(table, process, frame);

	if (!mapping)
		return false;
	*ret_image = mapping->image;
	*ret_offset = frame_code(frame) - mapping->start + mapping->offset;
	return true;
}
