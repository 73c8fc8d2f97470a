/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/frame-cache.h"

int frame_cache_init(struct frame_cache *cache)
{
	cache->entries = calloc(FRAME_CACHE_SIZE, sizeof(*cache->entries));
	return cache->entries ? 0 : -ENOMEM;
}

void frame_cache_deinit(struct frame_cache *cache)
{
	free(cache->entries);
	cache->entries = NULL;
}

struct frame_cache_entry *frame_cache_find(struct frame_cache *cache,
					   const struct process_table *processes,
					   const struct process *process,
					   const struct wire_frame *frame, bool *ret_is_new)
{
	uint64_t hash = frame->address * 0x9e3779b97f4a7c15ULL;
	struct frame_cache_entry *entry, wanted = {
		.address = frame->address,
		.flags = frame->flags,
		.is_used = true,
	};

	if (frame->flags & WIRE_frame_flags_KERNEL)
		process = &processes->kernel; /* everybody's */
	if (process) {
		wanted.process = process->number;
		wanted.version = process->version;
	}
	hash ^= wanted.process * 0xff51afd7ed558ccdULL;
	entry = &cache->entries[hash >> 40 & (FRAME_CACHE_SIZE - 1)];
	*ret_is_new = entry->address != wanted.address || entry->process != wanted.process ||
		      entry->version != wanted.version || entry->flags != wanted.flags ||
		      !entry->is_used;
	if (*ret_is_new)
		*entry = wanted;
	return entry;
}
