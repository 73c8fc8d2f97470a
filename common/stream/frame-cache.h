/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Caches what a stage found out about a frame of a process, because stacks share most frames with
 * earlier ones. Direct-mapped and of fixed size; an entry is valid until the process's mappings
 * change. Frames that a stack shares with the one before it, from the outermost on, need no lookup.
 */
#pragma once

#include "common/stream/process-table.h"

enum { FRAME_CACHE_SIZE = 64 * 1024 }; /* a power of two */

struct frame_cache_entry { /* half a cache line, so it never spans two */
	uint64_t address;
	uint64_t version; /* of the process's mappings; unique among processes */
	uint32_t flags;
	uint32_t number; /* for the stage's use, like `value` */
	uint64_t value;
};

struct frame_cache {
	struct frame_cache_entry *entries;
	uint64_t era;		 /* added to the versions of entries, in bits far above theirs */
	struct wire_frame *last; /* the frames of the last stack, outermost first */
	size_t n_last;
	uint64_t last_version, last_kernel_version; /* of the mappings at that time */
};

/* 0 or -ENOMEM */
int frame_cache_init(struct frame_cache *cache);
void frame_cache_deinit(struct frame_cache *cache);

/*
 * Finds the entry of a frame. With `ret_is_new` the entry is fresh and the stage has to fill it in.
 * `process` NULL: an unknown process; all of these are treated as one.
 */
struct frame_cache_entry *frame_cache_find(struct frame_cache *cache,
					   const struct process_table *processes,
					   const struct process *process,
					   const struct wire_frame *frame, bool *ret_is_new);

/* Drops an entry of the stack that was matched last. */
void frame_cache_forget(struct frame_cache *cache, struct frame_cache_entry *entry);

/* Drops all entries, at next to no cost. */
void frame_cache_forget_all(struct frame_cache *cache);

/*
 * How many frames, counted from the outermost, equal those of the previous stack, in the same
 * process and with the same mappings: what was found out about them still holds.
 */
size_t frame_cache_match(struct frame_cache *cache, const struct process_table *processes,
			 const struct process *process, const struct wire_frames *frames);
