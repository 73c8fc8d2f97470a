/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A format that is written while the stream is read, in the stream's order. */
#pragma once

#include "formats/output.h"
#include "profile/stacks.h"

/* Records that such a format may take unchanged. */
#define STREAM_FORMAT_RECORDS(RECORD)                                                              \
	RECORD(heap_events)                                                                        \
	RECORD(heap_lost)                                                                          \
	RECORD(mark)                                                                               \
	RECORD(counter)                                                                            \
	RECORD(counter_values)                                                                     \
	RECORD(thread_time)                                                                        \
	RECORD(file)                                                                               \
	RECORD(resource_attribute)                                                                 \
	RECORD(trace_context)                                                                      \
	RECORD(trace_attribute)                                                                    \
	RECORD(message)                                                                            \
	RECORD(lost)

/* `self` is the writer, all zero before `begin`. All return 0 or -errno. */
struct stream_format {
	size_t size; /* of the writer */
	/* `stage`, `stacks` and `output` are borrowed. */
	int (*begin)(void *self, struct stage *stage, struct stacks *stacks, struct output *output);
	/* Called for a frame that is not in the cache, which then keeps `ret_value` for it. */
	int (*add_frame)(void *self, const struct named_stack *stack,
			 const struct wire_frame *frame, const struct frame_name *name,
			 uint64_t *ret_value);
	int (*add_stack)(void *self, const struct named_stack *stack);
	int (*add_heap_stack)(void *self, const struct named_stack *stack,
			      const struct wire_heap_stack *record);
	int (*exit_process)(void *self, const struct process *process, uint64_t time);
	/* These may be NULL. */
#define RECORD(name) int (*add_##name)(void *self, const struct wire_##name *record);
	STREAM_FORMAT_RECORDS(RECORD)
#undef RECORD
	int (*end)(void *self, bool is_whole);
	void (*free)(void *self);
};
