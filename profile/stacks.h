/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handlers that follow the processes, images and symbols of a stream, and pass each stack with its
 * frames named to a user. A struct stacks is part of the state of a program that uses them.
 */
#pragma once

#include "common/stream/frame-cache.h"
#include "common/stream/identity.h"
#include "common/stream/stack-memo.h"
#include "profile/events.h"
#include "profile/names/names.h"

enum {
	STACKS_END_TEXT = 64,
	STACKS_ENDS = WIRE_STACK_ENDS_MAX,
};

struct named_frame {
	uint32_t label; /* see names.h */
	uint32_t flags; /* enum wire_frame_flags */
	uint64_t value; /* from the user's `add_frame` */
};

struct named_stack {
	const struct wire_stack *record;
	struct process *process;	  /* NULL: not known */
	const struct named_frame *frames; /* as many as in the record, but the outermost first */
	/* The same, without an interpreter's own functions if those are hidden. */
	const struct named_frame *shown;
	size_t n_shown;
};

struct stacks;

/* All return 0 or -errno. Only `add_stack` is required. A value of 0 is not remembered. */
struct stacks_user {
	/* Called when a frame is not in the cache, which then keeps `ret_value` for it. */
	int (*add_frame)(struct stage *stage, struct stacks *stacks,
			 const struct named_stack *stack, const struct wire_frame *frame,
			 const struct frame_name *name, uint64_t *ret_value);
	int (*add_stack)(struct stage *stage, struct stacks *stacks,
			 const struct named_stack *stack, uint64_t *ret_value);
	/*
	 * Called instead of `add_stack` for a stack that came before, if none of its names has
	 * changed, with the value that `add_stack` returned; its frames are not filled in.
	 */
	int (*add_known_stack)(struct stage *stage, struct stacks *stacks,
			       const struct named_stack *stack, uint64_t value);
	/*
	 * Called for a stack of allocations, which has no sample: the record has no weight, and its
	 * time is that of the first allocation. NULL: they are left out.
	 */
	int (*add_heap_stack)(struct stage *stage, struct stacks *stacks,
			      const struct named_stack *stack,
			      const struct wire_heap_stack *record);
	/* Called before the process is forgotten. */
	int (*exit_process)(struct stage *stage, struct stacks *stacks,
			    const struct process *process, uint64_t time);
};

struct stacks {
	struct identity identity;
	struct names names;
	struct frame_cache frames; /* number: the label; value: from `add_frame` */
	struct stack_memo memo;	   /* values of `add_stack`; used only with `add_known_stack` */
	const struct stacks_user *user;
	struct wire_hello hello;
	const struct arch *arch; /* of the stream's machine; NULL: not known */
	struct events events;
	bool hides_interpreters; /* in named_stack.shown: see interpreter-frames.h */
	bool has_symbols;	 /* the stream has passed a symbolizer, or has symbol records */
	uint64_t n_ends[STACKS_ENDS]; /* samples */
	uint64_t n_lost;	      /* samples that the kernel lost because a ring was full */
	uint64_t n_skipped;	      /* samples dropped by earlier stages or stacks_skip() */
	uint64_t last_time;	      /* the latest in the stream so far */
	struct wire_frame raw_frames[WIRE_FRAMES_MAX]; /* of a sample that was not unwound */
	struct named_frame named_frames[WIRE_FRAMES_MAX], shown_frames[WIRE_FRAMES_MAX];
};

/* `user` must outlive `stacks`. */
void stacks_init(struct stacks *stacks, const struct stacks_user *user);
void stacks_deinit(struct stacks *stacks);

/* At the first record of a stream. 0 or -ENOMEM. */
int stacks_start(struct stacks *stacks, const struct wire_hello *hello);

/* At the end of the stream: adds what was refused to the stage's counters. */
void stacks_finish(struct stacks *stacks, struct stage *stage);

/* Changes the end reason of samples that were counted already, to WIRE_stack_end_MORE_STACKS. */
void stacks_find_no_room(struct stacks *stacks, uint32_t end, uint64_t n_samples);

/* Counts samples as dropped that were already counted with an end reason. */
void stacks_skip(struct stacks *stacks, uint32_t end, uint64_t n_samples);

/* Handlers of stage.h; they precede those of identity.h and call them. */
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

/* `part`: the offset of the struct stacks in the stage's state. */
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

/* The name of an end reason; "unknown-end" for one of a later release. */
const char *stacks_end_name(uint32_t end);

/* An end reason as the text of a frame: "[stack-truncated]"; false: the stack is complete. */
bool stacks_end_text(uint32_t end, char ret[STACKS_END_TEXT]);
