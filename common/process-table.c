/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/process-table.h"

static void forget(struct process_table *table, struct process *process)
{
	if (table->forget)
		table->forget(process, table->arg);
	HASH_DEL(table->by_number, process);
	mapping_table_deinit(&process->mappings);
	cgroup_drop(process->cgroup);
	free(process);
}

void process_table_deinit(struct process_table *table)
{
	struct process *process, *next;

	HASH_ITER(hh, table->by_number, process, next)
	forget(table, process);
	mapping_table_deinit(&table->kernel.mappings);
}

struct process *process_table_find(const struct process_table *table, uint64_t number)
{
	struct process *process;

	HASH_FIND(hh, table->by_number, &number, sizeof(number), process);
	return process;
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
	process->version = ++table->n_versions;
	process->pid = record->pid;
	process->origin = record->origin;
	process->began = record->began;
	process->own_pid = record->own_pid;
	process->mappings.pool = &table->mappings;
	snprintf(process->name, sizeof(process->name), "%s", record->name.data);
	HASH_ADD(hh, table->by_number, number, sizeof(process->number), process);
	if (!HASH_HAS(hh, process)) {
		free(process);
		return -ENOMEM;
	}
	parent = process_table_find(table, record->parent);
	if (record->origin != WIRE_origin_FORKED || !parent)
		return 0;
	process->cgroup = cgroup_share(parent->cgroup);
	mapping_table_share(&process->mappings, &parent->mappings);
	return 0;
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

int process_table_map(struct process_table *table, const struct wire_mapping *record)
{
	struct process *process =
		record->process ? process_table_find(table, record->process) : &table->kernel;
	struct mapping mapping = {
		.start = record->start,
		.end = record->start + record->length,
		.offset = record->offset,
		.image = record->image,
		.number = record->mapping,
	};
	int r;

	if (!process) {
		table->n_refused++;
		return 0;
	}
	process->version = ++table->n_versions;
	r = record->image ? mapping_table_add(&process->mappings, &mapping)
			  : mapping_table_remove(&process->mappings, mapping.start, mapping.end);
	if (r == -ENOMEM)
		return r;
	table->n_refused += r < 0;
	return 0;
}

/* The main thread's name is the process's; those of others are of no concern here. */
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

/* Behind a call may be the next function, or nothing: a return address is looked up one before. */
static uint64_t lookup_address(const struct wire_frame *frame)
{
	return frame->address - !(frame->flags & WIRE_frame_flags_EXACT);
}

const struct mapping *process_table_mapping(const struct process_table *table,
					    const struct process *process,
					    const struct wire_frame *frame)
{
	if (frame->flags & WIRE_frame_flags_KERNEL)
		process = &table->kernel;
	return process ? mapping_table_find(&process->mappings, lookup_address(frame)) : NULL;
}

bool process_table_place(const struct process_table *table, const struct process *process,
			 const struct wire_frame *frame, uint64_t *ret_image, uint64_t *ret_offset)
{
	const struct mapping *mapping = process_table_mapping(table, process, frame);

	if (!mapping)
		return false;
	*ret_image = mapping->image;
	*ret_offset = lookup_address(frame) - mapping->start + mapping->offset;
	return true;
}
