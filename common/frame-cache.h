/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a stage has found out about a frame of a process, for the next stack that has it: stacks
 * share most of their frames with those before. Direct-mapped and of fixed size; an entry holds
 * until the process's mappings change.
 */
#pragma once

#include "common/process-table.h"

enum { FRAME_CACHE_SIZE = 16 * 1024 }; /* a power of two */

struct frame_cache_entry {
	uint64_t process, version, address;
	uint32_t flags;
	uint32_t is_used;
	uint64_t values[2]; /* the stage's own */
};

struct frame_cache {
	struct frame_cache_entry *entries;
};

/* 0 or -ENOMEM */
int frame_cache_init(struct frame_cache *cache);
void frame_cache_deinit(struct frame_cache *cache);

/*
 * The entry of a frame. With `ret_is_new` it was not there and its values are to be filled in.
 * `process` NULL: one that is not known, with the number 0.
 */
struct frame_cache_entry *frame_cache_find(struct frame_cache *cache,
					   const struct process_table *processes,
					   const struct process *process,
					   const struct wire_frame *frame, bool *ret_is_new);
