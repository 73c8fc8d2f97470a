/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/unwind/early-lists.h"

void early_lists_init(struct early_lists *early, const struct processes *processes,
		      struct mapping_lists *lists, struct table_slots *tables)
{
	memset(early, 0, sizeof(*early));
	early->processes = processes;
	early->lists = lists;
	early->tables = tables;
}

static struct early_list *find(struct early_lists *early, uint32_t pid)
{
	for (size_t i = 0; pid && i < EARLY_LISTS_MAX; i++)
		if (early->list[i].pid == pid)
			return &early->list[i];
	return NULL;
}

bool early_lists_have(struct early_lists *early, uint32_t pid)
{
	return find(early, pid);
}

void early_lists_give_up(struct early_lists *early, uint32_t pid)
{
	struct early_list *list = find(early, pid);

	if (list)
		list->pid = 0;
}

/* A program has begun, so the kernel has removed the list. It has no mappings yet. */
static void begin(struct early_lists *early, uint32_t pid)
{
	struct early_list *list = find(early, pid);

	mapping_lists_remove(early->lists, pid);
	if (!list) {
		list = &early->list[early->next];
		early->next = (early->next + 1) % EARLY_LISTS_MAX;
	}
	list->pid = pid;
	list->n = 0;
	list->is_changed = false;
}

/* Removes what a new mapping covers. */
static void make_room(struct early_list *list, const struct unwind_mapping *mapping)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->mappings[i].end <= mapping->start ||
		    list->mappings[i].start >= mapping->end)
			list->mappings[n++] = list->mappings[i];
	list->n = n;
}

static void insert(struct early_list *list, const struct unwind_mapping *mapping)
{
	size_t at = 0;

	make_room(list, mapping);
	if (list->n == EARLY_MAPPINGS_MAX)
		return;
	while (at < list->n && list->mappings[at].start < mapping->start)
		at++;
	memmove(&list->mappings[at + 1], &list->mappings[at],
		(list->n - at) * sizeof(*list->mappings));
	list->mappings[at] = *mapping;
	list->n++;
	list->is_changed = true;
}

/*
 * The kernel must not walk by what is no longer so: until the stream makes a list anew, stacks are
 * copied. Of new lists only files that are known already have a table soon.
 */
static void map(struct early_lists *early, const struct perf_record_mmap2 *mmap)
{
	struct early_list *list = find(early, mmap->pid);
	uint64_t image = processes_known_image(early->processes, mmap);
	struct unwind_mapping mapping = {
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.offset = mmap->offset,
		.image = list && image ? table_slots_find(early->tables, image) : TABLE_SLOT_NONE,
	};

	if (image)
		table_slots_check(early->tables, image);
	if (!list)
		mapping_lists_cover(early->lists, mmap->pid, mapping.start, mapping.end);
	else if (mapping.image != TABLE_SLOT_NONE && mapping.start < mapping.end)
		insert(list, &mapping);
}

void early_lists_take(struct early_lists *early, const struct perf_event_header *record)
{
	const struct perf_record_task *task = (const void *)record;
	const struct perf_record_comm *comm = (const void *)record;

	switch (record->type) {
	case PERF_RECORD_FORK:
		if (task->pid != task->parent_pid)
			mapping_lists_share(early->lists, task->parent_pid, task->pid);
		return;
	case PERF_RECORD_COMM:
		if (perf_record_comm_is_exec(record))
			begin(early, comm->pid);
		return;
	case PERF_RECORD_MMAP2:
		map(early, (const void *)record);
		return;
	default:
		return;
	}
}

int early_lists_publish(struct early_lists *early)
{
	int r = 0;

	for (size_t i = 0; i < EARLY_LISTS_MAX && r == 0; i++) {
		struct early_list *list = &early->list[i];

		if (!list->pid || !list->is_changed)
			continue;
		list->is_changed = false;
		r = mapping_lists_set(early->lists, list->pid, list->mappings, list->n);
	}
	return r;
}
