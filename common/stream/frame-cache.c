/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/zero-pages.h"
#include "common/stream/frame-cache.h"

/* Not a flag of the protocol: it distinguishes an entry in use from a zeroed one. */
enum { IS_USED = 1u << 31 };

#define ERA (1ULL << 48)
#define ENTRIES_SIZE (FRAME_CACHE_SIZE * sizeof(struct frame_cache_entry))
#define LAST_SIZE (WIRE_FRAMES_MAX * sizeof(struct wire_frame))

int frame_cache_init(struct frame_cache *cache)
{
	cache->entries = zero_pages_get(ENTRIES_SIZE);
	cache->last = zero_pages_get(LAST_SIZE);
	return cache->entries && cache->last ? 0 : -ENOMEM;
}

void frame_cache_deinit(struct frame_cache *cache)
{
	zero_pages_give_back(cache->entries, ENTRIES_SIZE);
	zero_pages_give_back(cache->last, LAST_SIZE);
	*cache = (struct frame_cache){ 0 };
}

struct frame_cache_entry *frame_cache_find(struct frame_cache *cache,
					   const struct process_table *processes,
					   const struct process *process,
					   const struct wire_frame *frame, bool *ret_is_new)
{
	uint64_t version = process_table_shares(frame) ? process_version(&processes->kernel)
			   : process		       ? process_version(process)
						       : 0;
	struct frame_cache_entry *entry =
		&cache->entries[hash_place(frame->address ^ version << 48, FRAME_CACHE_SIZE)];
	uint32_t flags = frame->flags | IS_USED;

	version += cache->era;
	*ret_is_new = entry->address != frame->address || entry->version != version ||
		      entry->flags != flags;
	if (*ret_is_new)
		*entry = (struct frame_cache_entry){ frame->address, version, flags };
	return entry;
}

void frame_cache_forget(struct frame_cache *cache, struct frame_cache_entry *entry)
{
	entry->flags = 0;
	cache->n_last = 0;
}

void frame_cache_forget_all(struct frame_cache *cache)
{
	cache->n_last = 0;
	cache->era += ERA;
	if (!cache->era) /* the era wrapped around: entries of the first would match again */
		memset(cache->entries, 0, ENTRIES_SIZE);
}

static bool is_same(const struct wire_frame *a, const struct wire_frame *b)
{
	return a->address == b->address && a->flags == b->flags;
}

size_t frame_cache_match(struct frame_cache *cache, const struct process_table *processes,
			 const struct process *process, const struct wire_frames *frames)
{
	const struct wire_frame *behind = frames->data + frames->n;
	uint64_t version = process ? process_version(process) : 0;
	size_t n = 0;

	if (cache->last_version == version &&
	    cache->last_kernel_version == process_version(&processes->kernel))
		while (n < frames->n && n < cache->n_last &&
		       is_same(behind - 1 - n, &cache->last[n]))
			n++;
	for (size_t i = n; i < frames->n; i++)
		cache->last[i] = behind[-1 - (ptrdiff_t)i];
	cache->n_last = frames->n;
	cache->last_version = version;
	cache->last_kernel_version = process_version(&processes->kernel);
	return n;
}
