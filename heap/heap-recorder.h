/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records a stream as a heap and the profile of its stacks. A program that uses these handlers has
 * a struct heap_recorder in its state.
 */
#pragma once

#include "heap/heap-profile.h"
#include "profile/recorder.h"

struct heap_recorder {
	struct recorder recorder;
	struct heap heap;
};

/* Callbacks of stage.h. They add heap stacks to the heap and ignore samples. */
void heap_recorder_init(void *self);
void heap_recorder_deinit(void *self);

/* For programs with their own stacks_user: adds an allocation's stack to heap and profile. */
int heap_recorder_add_stack(struct stage *stage, struct stacks *stacks,
			    const struct named_stack *stack, const struct wire_heap_stack *record);

/* Handlers of stage.h; `self` is the struct heap_recorder. */
int heap_recorder_handle_process_exit(struct stage *stage, void *self, const void *view);
int heap_recorder_handle_heap_begin(struct stage *stage, void *self, const void *view);
int heap_recorder_handle_heap_events(struct stage *stage, void *self, const void *view);
int heap_recorder_handle_heap_lost(struct stage *stage, void *self, const void *view);

/* `part`: offset of the struct heap_recorder in the stage's state. */
#define HEAP_RECORDER_HANDLERS(part)                                                               \
	{ WIRE_RECORD_process_exit, heap_recorder_handle_process_exit, part },                     \
		RECORDER_HANDLERS(part + offsetof(struct heap_recorder, recorder)),                \
		{ WIRE_RECORD_heap_begin, heap_recorder_handle_heap_begin, part },                 \
		{ WIRE_RECORD_heap_events, heap_recorder_handle_heap_events, part },               \
	{                                                                                          \
		WIRE_RECORD_heap_lost, heap_recorder_handle_heap_lost, part                        \
	}
