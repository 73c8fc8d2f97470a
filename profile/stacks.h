/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stacks of a stream with names: handlers that follow processes, images and symbols, and show
 * each stack to a user, its frames named. A struct stacks is part of the state of a program that
 * uses these handlers.
 */
#pragma once

#include "common/stream/frame-cache.h"
#include "common/stream/identity.h"
#include "common/stream/stack-memo.h"
#include "profile/events.h"
#include "profile/names.h"

enum {
	STACKS_END_TEXT = 64,
	STACKS_ENDS = WIRE_STACK_ENDS_MAX,
};

struct named_frame {
	uint32_t label; /* see names.h */
	uint32_t flags; /* enum wire_frame_flags */
	uint64_t value; /* of the user's `add_frame` */
};

struct named_stack {
	const struct wire_stack *record;
	struct process *process;	  /* NULL: not known */
	const struct named_frame *frames; /* as many as in the record, but outermost first */
};

struct stacks;

/* All return 0 or -errno; only `add_stack` may not be NULL. A value is never 0. */
struct stacks_user {
	/*
	 * A frame that was not met before, or not lately: `ret_value` is kept for when it is met
	 * again.
	 */
	int (*add_frame)(struct stage *stage, struct stacks *stacks,
			 const struct named_stack *stack, const struct wire_frame *frame,
			 const struct frame_name *name, uint64_t *ret_value);
	int (*add_stack)(struct stage *stage, struct stacks *stacks,
			 const struct named_stack *stack, uint64_t *ret_value);
	/*
	 * Instead: a stack that came before, and what `add_stack` made of it, if all its names are
	 * still what they were; its frames are not looked at.
	 */
	int (*add_known_stack)(struct stage *stage, struct stacks *stacks,
			       const struct named_stack *stack, uint64_t value);
	/*
	 * The stack of allocations, as one of no sample: its record has no weight, and its time is
	 * when it was first met. NULL: they are left out.
	 */
	int (*add_heap_stack)(struct stage *stage, struct stacks *stacks,
			      const struct named_stack *stack,
			      const struct wire_heap_stack *record);
	/* Before it is forgotten. */
	int (*exit_process)(struct stage *stage, struct stacks *stacks,
			    const struct process *process, uint64_t time);
};

struct stacks {
	struct identity identity;
	struct names names;
	struct frame_cache frames; /* number: the label; value: of `add_frame` */
	struct stack_memo memo;	   /* of `add_stack`; only with `add_known_stack` */
	const struct stacks_user *user;
	struct wire_hello hello;
	const struct arch *arch; /* of the stream's machine; NULL: it is not known */
	struct events events;
	bool has_symbols;	      /* a symbolizer has seen the stream, or it came with names */
	uint64_t n_ends[STACKS_ENDS]; /* samples */
	uint64_t n_lost;	      /* by the kernel, which had no room */
	uint64_t n_skipped;	      /* by the stages before */
	uint64_t last_time;	      /* of the stream so far */
	struct wire_frame raw_frames[WIRE_FRAMES_MAX]; /* of a sample that was not unwound */
	struct named_frame named_frames[WIRE_FRAMES_MAX];
};

/* `user` is kept. */
void stacks_init(struct stacks *stacks, const struct stacks_user *user);
void stacks_deinit(struct stacks *stacks);

/* With the first record of a stream: 0 or -ENOMEM. */
int stacks_start(struct stacks *stacks, const struct wire_hello *hello);

/* The stream is over: adds what was refused to the stage's counts. */
void stacks_finish(struct stacks *stacks, struct stage *stage);

/* Samples that were counted with another end have none but WIRE_stack_end_MORE_STACKS after all. */
void stacks_find_no_room(struct stacks *stacks, uint32_t end, uint64_t n_samples);

/* Samples that were counted are left out after all. */
void stacks_skip(struct stacks *stacks, uint32_t end, uint64_t n_samples);

/* Handlers of stage.h, in front of those of identity.h, which they call. */
int stacks_handle_process(struct stage *stage, void *self, const void *view);
int stacks_handle_process_exit(struct stage *stage, void *self, const void *view);
int stacks_handle_thread(struct stage *stage, void *self, const void *view);
int stacks_handle_image_exit(struct stage *stage, void *self, const void *view);
int stacks_handle_sample(struct stage *stage, void *self, const void *view);
int stacks_handle_stack(struct stage *stage, void *self, const void *view);
int stacks_handle_heap_stack(struct stage *stage, void *self, const void *view);
int stacks_handle_inlined(struct stage *stage, void *self, const void *view);
int stacks_handle_symbol(struct stage *stage, void *self, const void *view);
int stacks_handle_symbols_void(struct stage *stage, void *self, const void *view);
int stacks_handle_count(struct stage *stage, void *self, const void *view);
int stacks_handle_event(struct stage *stage, void *self, const void *view);
int stacks_handle_cgroup(struct stage *stage, void *self, const void *view);

/* `part`: where the struct stacks lies in the stage's state. */
#define STACKS_HANDLERS(part)                                                                      \
	{ WIRE_RECORD_process, stacks_handle_process, part },                                      \
		{ WIRE_RECORD_process_exit, stacks_handle_process_exit, part },                    \
		{ WIRE_RECORD_thread, stacks_handle_thread, part },                                \
		{ WIRE_RECORD_image_exit, stacks_handle_image_exit, part },                        \
		IDENTITY_HANDLERS(part + offsetof(struct stacks, identity)),                       \
		{ WIRE_RECORD_sample, stacks_handle_sample, part },                                \
		{ WIRE_RECORD_stack, stacks_handle_stack, part },                                  \
		{ WIRE_RECORD_heap_stack, stacks_handle_heap_stack, part },                        \
		{ WIRE_RECORD_inlined, stacks_handle_inlined, part },                              \
		{ WIRE_RECORD_symbol, stacks_handle_symbol, part },                                \
		{ WIRE_RECORD_symbols_void, stacks_handle_symbols_void, part },                    \
		{ WIRE_RECORD_event, stacks_handle_event, part },                                  \
		{ WIRE_RECORD_cgroup, stacks_handle_cgroup, part },                                \
	{                                                                                          \
		WIRE_RECORD_count, stacks_handle_count, part                                       \
	}

/* What a reason for a stack's end is called: "unknown-end", if a later release has told it. */
const char *stacks_end_name(uint32_t end);

/* Why a stack ends, as a frame: "[stack-truncated]"; false: it is complete. */
bool stacks_end_text(uint32_t end, char ret[STACKS_END_TEXT]);
