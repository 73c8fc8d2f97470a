/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which allocations are recorded: all, or samples by a Poisson process over the bytes that a thread
 * allocates (with probability 1 - exp(-size / mean)). The addresses of sampled blocks are kept, so
 * that frees of all others cost nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload-source/injected/thread.h"

enum { SAMPLING_FILTER_SIZE = 8192 }; /* a power of two */

/*
 * A counting filter of sampled blocks by address; 0: none. All entries are full if everything is
 * recorded, or as long as that is undecided.
 */
extern uint8_t sampling_filter[SAMPLING_FILTER_SIZE];

static inline uint8_t *sampling_filter_at(const void *block)
{
	return &sampling_filter[((uint64_t)block >> 4 ^ (uint64_t)block >> 17) &
				(SAMPLING_FILTER_SIZE - 1)];
}

/* Whether an allocation is skipped; if so, its bytes are counted. */
static inline bool sampling_skips(size_t size)
{
	if (__builtin_expect(size >= (uint64_t)thread.bytes_left, 0))
		return false;
	thread.bytes_left -= size;
	return true;
}

/* Whether a block that is freed was certainly not sampled. */
static inline bool sampling_has_skipped(const void *block)
{
	return *sampling_filter_at(block) == 0;
}

/* Enables the filter: this process is sampled from now on. */
void sampling_begin(void);

/* Records the current mean for the records that follow. Without room this is deferred. */
void sampling_emit(void);

/* If sampling is on. */
bool sampling_takes_slowly(const void *block, size_t size);
bool sampling_has_slowly(const void *block);
bool sampling_restores_slowly(const void *block);

static inline bool sampling_takes(const void *block, size_t size)
{
	return __builtin_expect(!connected.region->sampling, 1) ||
	       sampling_takes_slowly(block, size);
}

/* Whether a block that is freed was recorded. */
static inline bool sampling_has(const void *block)
{
	return __builtin_expect(!connected.region->sampling, 1) || sampling_has_slowly(block);
}

/* The same for a block that realloc(3) failed to resize. */
static inline bool sampling_restores(const void *block)
{
	return __builtin_expect(!connected.region->sampling, 1) || sampling_restores_slowly(block);
}
