/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records a stream as a profile: handlers for any stage or command that needs one. A struct
 * recorder is part of the state of a program that uses them.
 */
#pragma once

#include "profile/messages.h"
#include "profile/profile.h"

/* What to record besides stacks; other records of these types are ignored. */
enum recorder_wants {
	RECORDER_LOSSES = 1 << 0,
	RECORDER_MARKS = 1 << 1,
	RECORDER_COUNTERS = 1 << 2, /* and their values */
	RECORDER_THREAD_TIMES = 1 << 3,
	RECORDER_MESSAGES = 1 << 4,
	RECORDER_CONTEXTS = 1 << 5, /* that programs publish */
};

struct recorder {
	struct stacks stacks;
	struct profile profile;
	struct messages messages;
	unsigned wants; /* enum recorder_wants; by default losses, times, messages, contexts */
};

/*
 * Callbacks of stage.h; `self` is the recorder. By default all stacks go to the profile; to see
 * them, a program replaces stacks.user. 0 or -ENOMEM.
 */
void recorder_init(void *self);
int recorder_start(struct stage *stage, void *self, struct wire_hello *hello);
void recorder_deinit(void *self);

/* At the end of the stream: settles the profile. Returns what profile_settle() does. */
int recorder_finish(struct recorder *recorder, struct stage *stage);

/* For users that replace stacks.user but add stacks to the profile: adds a frame to the profile. */
int recorder_add_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		       const struct wire_frame *frame, const struct frame_name *name,
		       uint64_t *ret_value);

/* Handlers of stage.h; `self` is the recorder. */
int recorder_handle_lost(struct stage *stage, void *self, const void *view);
int recorder_handle_mark(struct stage *stage, void *self, const void *view);
int recorder_handle_counter(struct stage *stage, void *self, const void *view);
int recorder_handle_counter_values(struct stage *stage, void *self, const void *view);
int recorder_handle_thread_time(struct stage *stage, void *self, const void *view);
int recorder_handle_message(struct stage *stage, void *self, const void *view);
int recorder_handle_resource_attribute(struct stage *stage, void *self, const void *view);
int recorder_handle_trace_context(struct stage *stage, void *self, const void *view);
int recorder_handle_trace_attribute(struct stage *stage, void *self, const void *view);

/* `part`: the offset of the recorder in the stage's state. */
#define RECORDER_HANDLERS(part)                                                                    \
	STACKS_HANDLERS(part + offsetof(struct recorder, stacks)),                                 \
		{ WIRE_RECORD_lost, recorder_handle_lost, part },                                  \
		{ WIRE_RECORD_mark, recorder_handle_mark, part },                                  \
		{ WIRE_RECORD_counter, recorder_handle_counter, part },                            \
		{ WIRE_RECORD_counter_values, recorder_handle_counter_values, part },              \
		{ WIRE_RECORD_thread_time, recorder_handle_thread_time, part },                    \
		{ WIRE_RECORD_resource_attribute, recorder_handle_resource_attribute, part },      \
		{ WIRE_RECORD_trace_context, recorder_handle_trace_context, part },                \
		{ WIRE_RECORD_trace_attribute, recorder_handle_trace_attribute, part },            \
	{                                                                                          \
		WIRE_RECORD_message, recorder_handle_message, part                                 \
	}
