/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "preload-source/injected/raw.h"
#include "preload-source/injected/record.h"
#include "preload-source/injected/sampling.h"
#include "preload-source/injected/thread.h"

enum { SLOT_WAYS = 4 }; /* slots that a stack may have */

static inline uint64_t word(enum heap_record kind, uint64_t rest)
{
	return (uint64_t)kind << HEAP_KIND_SHIFT | rest;
}

/* A sampled block stands for 1 / (1 - exp(-size / mean)), about mean / size + 1/2. */
static void count_lost_allocated(size_t size, uint64_t mean)
{
	struct heap_lost *lost = &thread.ring->lost;
	uint64_t n = mean > size ? mean / (size + 1) + 1 : 1;

	__atomic_store_n(&lost->n_allocated, lost->n_allocated + n, __ATOMIC_RELAXED);
	__atomic_store_n(&lost->n_bytes, lost->n_bytes + (mean > size ? mean : size),
			 __ATOMIC_RELAXED);
}

static void count_lost_freed(void)
{
	struct heap_lost *lost = &thread.ring->lost;

	__atomic_store_n(&lost->n_freed, lost->n_freed + 1, __ATOMIC_RELAXED);
}

/* Records the walked stack as the stack of a slot. */
static bool put_stack(const struct scratch *scratch, uint32_t slot)
{
	const struct walker *walker = &scratch->walker;
	uint32_t n = walker->n_links, end = walker->end, n_max = connected.region->max_frames;
	uint64_t *record;

	if (n > n_max) {
		n = n_max;
		end = HEAP_END_FRAME_LIMIT;
	}
	record = thread_reserve(HEAP_STACK_WORDS + n);
	if (!record)
		return false;
	record[0] = word(HEAP_RECORD_STACK, (uint64_t)(scratch->generation & HEAP_GENERATION_MASK)
							    << 48 |
						    (uint64_t)end << 40 | (uint64_t)slot << 16 | n);
	for (uint32_t i = 0; i < n; i++)
		record[1 + i] = walker->links[walker->n_links - 1 - i].frame.pc;
	thread_commit(HEAP_STACK_WORDS + n);
	return true;
}

/* The slot of the walked stack; a stack without a slot gets one and is recorded. -1: no room. */
static inline int32_t find_slot(struct scratch *scratch)
{
	const struct walker *walker = &scratch->walker;
	uint64_t hash = walker->links[walker->n_links - 1].hash | 1;
	uint32_t first = (hash >> 20 & (HEAP_SLOTS / SLOT_WAYS - 1)) * SLOT_WAYS;
	uint64_t *ways = scratch->stacks + first;
	uint32_t way = thread.head & (SLOT_WAYS - 1); /* the victim: any will do */

	for (uint32_t i = 0; i < SLOT_WAYS; i++)
		if (__builtin_expect(ways[i] == hash, 1))
			return first + i;
	for (uint32_t i = 0; i < SLOT_WAYS; i++)
		if (!ways[i])
			way = i;
	ways[way] = 0; /* until it is recorded */
	if (!put_stack(scratch, first + way))
		return -1;
	ways[way] = hash;
	return first + way;
}

static int32_t find_stack(struct walk_frame caller)
{
	struct scratch *scratch = thread.scratch;

	if (__builtin_expect(scratch->generation != connected.region->generation, 0))
		thread_forget();
	if (__builtin_expect(!connection->n_closing, 1) &&
	    walk(&scratch->walker, thread.stack, caller) == WALK_DONE)
		return find_slot(scratch);
	return raw_put(caller) ? HEAP_SLOT_RAW : -1;
}

/* false: no room. */
static inline bool put_allocated(enum heap_record kind, const void *block, size_t size,
				 struct walk_frame caller)
{
	uint64_t address = (uint64_t)block, *record;
	int32_t slot = address <= HEAP_ADDRESS_MASK ? find_stack(caller) : -1;

	record = slot >= 0 ? thread_reserve(HEAP_ALLOCATED_WORDS) : NULL;
	if (__builtin_expect(!record, 0))
		return false;
	record[0] = word(kind, thread_time());
	record[1] = address | (uint64_t)slot << HEAP_ADDRESS_BITS;
	record[2] = size;
	thread_commit(HEAP_ALLOCATED_WORDS);
	return true;
}

void record_allocated(const void *block, size_t size, struct walk_frame caller)
{
	if (!sampling_takes(block, size))
		return;
	if (!put_allocated(HEAP_RECORD_ALLOCATED, block, size, caller)) {
		count_lost_allocated(size, thread.sampling);
		return;
	}
	/* This block was sampled and recorded with the old mean; the next one is drawn anew. */
	if (__builtin_expect(thread.sampling != connected.region->sampling, 0))
		sampling_emit();
}

static inline void put_address(enum heap_record kind, const void *block)
{
	uint64_t *record = thread_reserve(HEAP_FREED_WORDS);

	if (__builtin_expect(!record, 0)) {
		count_lost_freed();
		return;
	}
	record[0] = word(kind, thread_time());
	record[1] = (uint64_t)block;
	thread_commit(HEAP_FREED_WORDS);
}

void record_freed(const void *block)
{
	if (sampling_has(block))
		put_address(HEAP_RECORD_FREED, block);
}

void record_released(const void *block)
{
	if (sampling_has(block))
		put_address(HEAP_RECORD_RELEASED, block);
}

void record_restored(const void *block)
{
	if (sampling_restores(block))
		put_address(HEAP_RECORD_RESTORED, block);
}

/* Mappings are few, so all are recorded, even if blocks are sampled. */
void record_mapped(const void *address, size_t size, struct walk_frame caller)
{
	if (connected.region->mappings && !put_allocated(HEAP_RECORD_MAPPED, address, size, caller))
		count_lost_allocated(size, 0);
}

static void put_range(enum heap_record kind, const void *address, size_t size)
{
	uint64_t *record;

	if (!connected.region->mappings)
		return;
	record = thread_reserve(HEAP_UNMAPPED_WORDS);
	if (!record) {
		count_lost_freed();
		return;
	}
	record[0] = word(kind, thread_time());
	record[1] = (uint64_t)address;
	record[2] = size;
	thread_commit(HEAP_UNMAPPED_WORDS);
}

void record_unmapped(const void *address, size_t size)
{
	put_range(HEAP_RECORD_UNMAPPED, address, size);
}

void record_kept(const void *address, size_t size)
{
	put_range(HEAP_RECORD_KEPT, address, size);
}

/*
 * Has all committed records read while the code is still mapped. No stack is walked until
 * record_closed(), as other code may already be in its place.
 */
void record_closing(void)
{
	connection_ask();
	__atomic_fetch_add(&connection->n_closing, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&connected.region->n_unmapping, 1, __ATOMIC_SEQ_CST);
}

void record_closed(void)
{
	uint32_t wanted;

	__atomic_fetch_add(&connected.region->generation, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&connected.region->n_unmapping, 1, __ATOMIC_SEQ_CST);
	wanted = __atomic_add_fetch(&connected.region->wanted, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&connection->required, wanted, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&connection->n_closing, 1, __ATOMIC_SEQ_CST);
	connection_ring_doorbell();
}

bool record_is_code(const void *address, size_t size)
{
	const struct heap_mappings *mappings = connected.mappings;
	uint64_t start = (uint64_t)address, end = start + size;
	uint32_t n = mappings->n;

	for (uint32_t i = 0; i < n && i < HEAP_MAPPINGS_MAX; i++)
		if (mappings->list[i].start < end && start < mappings->list[i].end)
			return true;
	return false;
}
