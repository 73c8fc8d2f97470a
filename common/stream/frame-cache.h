/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a stage has found out about a frame of a process, for the next stack that has it: stacks
 * share most of their frames with those before. Direct-mapped and of fixed size; an entry holds
 * until the process's mappings change. Most of all a stack is like the last one, from the outermost
 * frame on: that much need not be looked up at all.
 */
#pragma once

#include "common/stream/process-table.h"

enum { FRAME_CACHE_SIZE = 64 * 1024 }; /* a power of two */

struct frame_cache_entry { /* half a cache line, and never across two */
	uint64_t address;
	uint64_t version; /* of the process's mappings; no other process has the same */
	uint32_t flags;
	uint32_t number; /* the stage's own, as is `value` */
	uint64_t value;
};

struct frame_cache {
	struct frame_cache_entry *entries;
	uint64_t era;		 /* added to the versions of entries, far above them */
	struct wire_frame *last; /* the frames of the last stack, outermost first */
	size_t n_last;
	uint64_t last_version, last_kernel_version; /* of the mappings that it was met with */
};

/* 0 or -ENOMEM */
int frame_cache_init(struct frame_cache *cache);
void frame_cache_deinit(struct frame_cache *cache);

/*
 * The entry of a frame. With `ret_is_new` it was not there, and what the stage keeps is to be
 * filled in. `process` NULL: one that is not known; all of these are one.
 */
struct frame_cache_entry *frame_cache_find(struct frame_cache *cache,
					   const struct process_table *processes,
					   const struct process *process,
					   const struct wire_frame *frame, bool *ret_is_new);

/* The entry, which is of the stack that was matched last, is not to be found again. */
void frame_cache_forget(struct frame_cache *cache, struct frame_cache_entry *entry);

/* What was found out about any frame holds no more. It costs next to nothing. */
void frame_cache_forget_all(struct frame_cache *cache);

/*
 * How many frames of a stack, counted from the outermost, are those of the stack before, in the
 * same process and with the same mappings: what was found out about them holds.
 */
size_t frame_cache_match(struct frame_cache *cache, const struct process_table *processes,
			 const struct process *process, const struct wire_frames *frames);
