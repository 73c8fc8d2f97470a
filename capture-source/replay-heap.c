/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "capture-source/replay-heap.h"

int heap_replay_init(struct heap_replay *heap, struct stage *stage)
{
	heap->stage = stage;
	return stack_memo_init(&heap->memo);
}

void heap_replay_deinit(struct heap_replay *heap)
{
	stack_memo_deinit(&heap->memo);
}

int heap_replay_flush(struct heap_replay *heap)
{
	return heap_events_send(&heap->events, heap->stage, heap->process);
}

/* The number of a stack, which is emitted if it is new, or no longer in the memo. */
static int find_stack(struct heap_replay *heap, struct taking *taking,
		      struct replayed_process *process, const struct syscap_frame *frame,
		      uint32_t *ret_number)
{
	const struct syscap_allocation_frame *allocation = (const void *)frame;
	const void *addresses = allocation->addresses; /* aligned: frames consist of whole words */
	const uint64_t state[] = { process->process.number, process->process.n_changes };
	struct stack_key key = stack_memo_key(
		&heap->memo, addresses, allocation->n_addresses,
		stack_memo_state(&heap->memo, state, sizeof(state) / sizeof(*state)));
	uint64_t known = stack_memo_find(&heap->memo, key);
	struct wire_heap_stack stack = { .time = frame->time, .process = process->process.number };
	int r;

	*ret_number = known;
	if (known)
		return 0;
	r = taking_take(taking, process, frame, addresses, allocation->n_addresses, &stack.frames,
			&stack.end);
	if (r < 0)
		return r;
	*ret_number = stack.number = ++heap->n_stacks;
	stack_memo_keep(&heap->memo, key, stack.number);
	return stage_put(heap->stage, WIRE_RECORD_heap_stack, &stack);
}

static int begin(struct heap_replay *heap, struct replayed_process *process, uint64_t time)
{
	const struct wire_heap_begin record = { .process = process->process.number, .time = time };

	if (process->heap_begun == record.process)
		return 0;
	process->heap_begun = record.process;
	return stage_put(heap->stage, WIRE_RECORD_heap_begin, &record);
}

int heap_replay_take(struct heap_replay *heap, struct taking *taking,
		     struct replayed_process *process, const struct syscap_frame *frame)
{
	const struct syscap_allocation_frame *allocation = (const void *)frame;
	struct heap_event event = {
		.kind = allocation->size > 0 ? HEAP_EVENT_ALLOCATED : HEAP_EVENT_FREED,
		.tid = allocation->tid == frame->pid ? process->process.pid
						     : (uint32_t)allocation->tid,
		.time = (uint64_t)frame->time > heap->events.time ? (uint64_t)frame->time
								  : heap->events.time,
		.address = allocation->address & (~0ULL >> 16),
		.size = allocation->size > 0 ? allocation->size : 0,
	};
	int r = begin(heap, process, frame->time);

	if (r == 0 && event.kind == HEAP_EVENT_ALLOCATED)
		r = find_stack(heap, taking, process, frame, &event.stack);
	if (r == 0 &&
	    (heap->process != process->process.number || heap_event_writer_is_full(&heap->events)))
		r = heap_replay_flush(heap);
	heap->process = process->process.number;
	if (r == 0)
		heap_event_write(&heap->events, &event);
	heap->stage->last_time = event.time;
	return r;
}
