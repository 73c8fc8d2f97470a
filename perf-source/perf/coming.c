/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/source/perf-record.h"
#include "perf-source/perf/coming.h"

int coming_init(struct coming *coming, struct merge *merge, size_t n_rings)
{
	*coming = (struct coming){ .merge = merge, .n_rings = n_rings };
	coming->looked_at = calloc(n_rings, sizeof(*coming->looked_at));
	coming->n_changes = calloc(COMING_PIDS_MAX, sizeof(*coming->n_changes));
	return coming->looked_at && coming->n_changes ? 0 : -ENOMEM;
}

void coming_deinit(struct coming *coming)
{
	free(coming->looked_at);
	free(coming->n_changes);
	*coming = (struct coming){ 0 };
}

/* The count of the PID of which a record begins another incarnation; NULL: of none. */
static uint32_t *find_count(struct coming *coming, const struct perf_event_header *header)
{
	const struct perf_record_task *task = (const void *)header;
	const struct perf_record_comm *comm = (const void *)header;
	uint32_t pid = COMING_PIDS_MAX;

	if (!perf_record_is_whole(header))
		return NULL;
	if (header->type == PERF_RECORD_COMM && perf_record_comm_is_exec(header))
		pid = comm->pid;
	else if (header->type == PERF_RECORD_FORK && task->parent_pid != task->pid)
		pid = task->pid;
	else if (header->type == PERF_RECORD_EXIT && task->tid == task->pid)
		pid = task->pid;
	return pid < COMING_PIDS_MAX ? &coming->n_changes[pid] : NULL;
}

static int count(const struct perf_event_header *header, void *arg)
{
	uint32_t *n = find_count(arg, header);

	if (n)
		++*n;
	return 0;
}

bool coming_changes(struct coming *coming, uint32_t pid)
{
	for (size_t i = 0; i < coming->n_rings; i++)
		merge_look_ahead(coming->merge, i, &coming->looked_at[i], count, coming);
	return pid < COMING_PIDS_MAX && coming->n_changes[pid];
}

void coming_take(struct coming *coming, const struct merge_record *record)
{
	uint32_t *n;

	if (coming->merge->rings[record->ring].position > coming->looked_at[record->ring])
		return; /* behind looked_at, so not counted */
	n = find_count(coming, record->header);
	if (n)
		--*n;
}
