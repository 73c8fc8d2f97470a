/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "heap/heap-recorder.h"
#include "common/base/container-of.h"

/* Samples are not recorded in a heap. */
static int ignore_stack(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
			uint64_t *ret_value)
{
	*ret_value = 0;
	return 0;
}

int heap_recorder_add_stack(struct stage *stage, struct stacks *stacks,
			    const struct named_stack *stack, const struct wire_heap_stack *record)
{
	struct heap_recorder *self = container_of(stacks, struct heap_recorder, recorder.stacks);

	return heap_profile_add_stack(&self->heap, &self->recorder.profile, stack, record);
}

void heap_recorder_init(void *data)
{
	static const struct stacks_user own = {
		.add_frame = recorder_add_frame,
		.add_stack = ignore_stack,
		.add_heap_stack = heap_recorder_add_stack,
	};
	struct heap_recorder *self = data;

	heap_init(&self->heap);
	recorder_init(&self->recorder);
	self->recorder.stacks.user = &own;
	self->recorder.wants = RECORDER_MESSAGES;
}

void heap_recorder_deinit(void *data)
{
	struct heap_recorder *self = data;

	heap_deinit(&self->heap);
	recorder_deinit(&self->recorder);
}

int heap_recorder_handle_process_exit(struct stage *stage, void *data, const void *view)
{
	struct heap_recorder *self = data;
	const struct wire_process_exit *exit = view;

	heap_end_process(&self->heap, exit->process, exit->time);
	return stacks_handle_process_exit(stage, &self->recorder.stacks, view);
}

int heap_recorder_handle_heap_begin(struct stage *stage, void *data, const void *view)
{
	struct heap_recorder *self = data;

	return heap_begin(&self->heap, view);
}

int heap_recorder_handle_heap_events(struct stage *stage, void *data, const void *view)
{
	struct heap_recorder *self = data;
	const struct wire_heap_events *events = view;
	int r = heap_add_events(&self->heap, events);

	stage_sum(stage, &stage->samples_out, events->n);
	stage->has_full_sum |= heap_is_full(&self->heap);
	return r;
}

int heap_recorder_handle_heap_lost(struct stage *stage, void *data, const void *view)
{
	struct heap_recorder *self = data;
	const struct process_table *processes = &self->recorder.stacks.identity.processes;
	const struct wire_heap_lost *lost = view;
	int r = heap_add_lost(&self->heap, lost, process_table_find(processes, lost->process));

	stage->has_full_sum |= heap_is_full(&self->heap);
	return r;
}
