/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "stackpipe/heap/heap-report.h"

static int add_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     const struct wire_frame *frame, const struct frame_name *name,
		     uint64_t *ret_value)
{
	struct gathering *gathering = (void *)stacks;

	return profile_add_frame(&gathering->profile, frame, name, ret_value);
}

/* Samples of time are no concern of a heap. */
static int ignore_stack(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
			uint64_t *ret_value)
{
	*ret_value = 0;
	return 0;
}

static int add_heap_stack(struct stage *stage, struct stacks *stacks,
			  const struct named_stack *stack, const struct wire_heap_stack *record)
{
	struct heap_gathering *self = (void *)stacks;

	return heap_profile_add_stack(&self->heap, &self->gathering.profile, stack, record);
}

void heap_gathering_init(void *data)
{
	static const struct stacks_user user = {
		.add_frame = add_frame,
		.add_stack = ignore_stack,
		.add_heap_stack = add_heap_stack,
	};
	struct heap_gathering *self = data;

	stacks_init(&self->gathering.stacks, &user);
	heap_init(&self->heap);
}

void heap_gathering_deinit(void *data)
{
	struct heap_gathering *self = data;

	heap_deinit(&self->heap);
	gathering_deinit(data);
}

int heap_gathering_start(struct stage *stage, void *data, struct wire_hello *hello)
{
	return gathering_start(stage, data, hello);
}

int heap_gathering_handle_begin(struct stage *stage, void *data, const void *view)
{
	struct heap_gathering *self = data;

	return heap_begin(&self->heap, view);
}

int heap_gathering_handle_events(struct stage *stage, void *data, const void *view)
{
	struct heap_gathering *self = data;
	const struct wire_heap_events *events = view;
	int r = heap_add_events(&self->heap, events);

	stage_sum(stage, &stage->samples_out, events->n);
	stage->has_full_sum |= heap_is_full(&self->heap);
	return r;
}

int heap_gathering_handle_lost(struct stage *stage, void *data, const void *view)
{
	struct heap_gathering *self = data;
	const struct process_table *processes = &self->gathering.stacks.identity.processes;
	const struct wire_heap_lost *lost = view;
	int r;

	r = heap_add_lost(&self->heap, lost, process_table_find(processes, lost->process));
	stage->has_full_sum |= heap_is_full(&self->heap);
	return r;
}

int heap_gathering_handle_exit(struct stage *stage, void *data, const void *view)
{
	struct heap_gathering *self = data;
	const struct wire_process_exit *exit = view;

	heap_end_process(&self->heap, exit->process, exit->time);
	return stacks_handle_process_exit(stage, data, view);
}

const char *heap_gathering_thread_name(struct heap_gathering *self,
				       const struct heap_thread *thread)
{
	struct stacks *stacks = &self->gathering.stacks;
	const struct process *process =
		process_table_find(&stacks->identity.processes, thread->process);

	return names_text(&stacks->names,
			  names_of_thread(&stacks->names, process, thread->process, thread->tid));
}

int heap_counts_init(struct heap_counts *counts, struct heap_report *report,
		     enum heap_metric metric)
{
	struct profile *profile = &report->heap->gathering.profile;
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

/* Both are of the same profile, so that their functions have the same numbers. */
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
