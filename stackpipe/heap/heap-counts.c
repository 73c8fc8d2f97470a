/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "stackpipe/heap/heap-report.h"

const char *heap_thread_name(struct heap_recorder *self, const struct heap_thread *thread)
{
	struct stacks *stacks = &self->recorder.stacks;
	const struct process *process =
		process_table_find(&stacks->identity.processes, thread->process);

	return names_text(&stacks->names,
			  names_of_thread(&stacks->names, process, thread->process, thread->tid));
}

int heap_counts_init(struct heap_counts *counts, struct heap_report *report,
		     enum heap_metric metric)
{
	struct profile *profile = &report->heap->recorder.profile;
	const struct counts_filter all = { .view = { VIEW_WEIGHTS, 0 } };
	int r = heap_profile_select(&report->heap->heap, profile, metric, report->unit);

	*counts = (struct heap_counts){ 0 };
	if (r == 0)
		r = tree_init(&counts->tree, profile, report->options.detail);
	return r < 0 ? r : counts_init(&counts->counts, &counts->tree, &all);
}

void heap_counts_deinit(struct heap_counts *counts)
{
	counts_deinit(&counts->counts);
	tree_deinit(&counts->tree);
}

static int compare_changes(const void *a, const void *b)
{
	const struct heap_change *left = a, *right = b;
	uint64_t by_left = llabs(left->self), by_right = llabs(right->self);

	if (by_left == by_right) {
		by_left = llabs(left->total);
		by_right = llabs(right->total);
	}
	return by_left < by_right ? 1 : by_left > by_right ? -1 : 0;
}

/* `before` and `after` share a profile, so their functions have the same numbers. */
int heap_changes(const struct heap_counts *before, const struct heap_counts *after,
		 struct heap_change **ret, size_t *ret_n)
{
	size_t n = before->tree.n_functions;
	struct heap_change *list = calloc(n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct function_count *old = &before->counts.functions[i];
		const struct function_count *new = &after->counts.functions[i];
		struct heap_change change = { i, new->self - old->self, new->total - old->total };

		if (change.self || change.total)
			list[(*ret_n)++] = change;
	}
	qsort(list, *ret_n, sizeof(*list), compare_changes);
	*ret = list;
	return 0;
}
