/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/recorder.h"
#include "common/base/container-of.h"

static struct recorder *recorder_of(struct stacks *stacks)
{
	return container_of(stacks, struct recorder, stacks);
}

int recorder_add_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		       const struct wire_frame *frame, const struct frame_name *name,
		       uint64_t *ret_value)
{
	return profile_add_frame(&recorder_of(stacks)->profile, frame, name, ret_value);
}

static int add_stack(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     uint64_t *ret_node)
{
	return profile_add_stack(&recorder_of(stacks)->profile, stack, ret_node);
}

static int add_known_stack(struct stage *stage, struct stacks *stacks,
			   const struct named_stack *stack, uint64_t node)
{
	return profile_add_known_stack(&recorder_of(stacks)->profile, stack, node);
}

void recorder_init(void *self)
{
	static const struct stacks_user own = {
		.add_frame = recorder_add_frame,
		.add_stack = add_stack,
		.add_known_stack = add_known_stack,
	};
	struct recorder *recorder = self;

	recorder->wants =
		RECORDER_LOSSES | RECORDER_THREAD_TIMES | RECORDER_MESSAGES | RECORDER_CONTEXTS;
	stacks_init(&recorder->stacks, &own);
}

void recorder_deinit(void *self)
{
	struct recorder *recorder = self;

	messages_deinit(&recorder->messages);
	profile_deinit(&recorder->profile);
	stacks_deinit(&recorder->stacks);
}

int recorder_start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct recorder *recorder = self;
	int r = stacks_start(&recorder->stacks, hello);

	return r < 0 ? r : profile_init(&recorder->profile, &recorder->stacks);
}

int recorder_finish(struct recorder *recorder, struct stage *stage)
{
	stacks_finish(&recorder->stacks, stage);
	return profile_settle(&recorder->profile, stage);
}

#define HANDLE(record, want, part, add)                                                            \
	int recorder_handle_##record(struct stage *stage, void *self, const void *view)            \
	{                                                                                          \
		struct recorder *recorder = self;                                                  \
                                                                                                   \
		return recorder->wants & want ? add(&recorder->part, view) : 0;                    \
	}

HANDLE(lost, RECORDER_LOSSES, profile, profile_add_lost)
HANDLE(mark, RECORDER_MARKS, profile, profile_add_mark)
HANDLE(counter, RECORDER_COUNTERS, profile, profile_add_counter)
HANDLE(counter_values, RECORDER_COUNTERS, profile, profile_add_counter_values)
HANDLE(thread_time, RECORDER_THREAD_TIMES, profile, profile_add_thread_time)
HANDLE(resource_attribute, RECORDER_CONTEXTS, profile, profile_add_resource_attribute)
HANDLE(trace_context, RECORDER_CONTEXTS, profile, profile_add_trace_context)
HANDLE(trace_attribute, RECORDER_CONTEXTS, profile, profile_add_trace_attribute)
HANDLE(message, RECORDER_MESSAGES, messages, messages_add)
