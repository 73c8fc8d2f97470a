/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which allocations are recorded: all, or samples of them, as a Poisson process over the bytes that
 * a thread allocates (one of `size` is taken with the probability 1 - exp(-size / mean)). Blocks
 * that were taken are known by their addresses, so that the frees of all others cost nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload-source/injected/thread.h"

enum { SAMPLING_FILTER_SIZE = 8192 }; /* a power of two */

/*
 * How many blocks that were taken may be at an address: 0: none. Where everything is recorded, and
 * before that is known, all are full.
 */
extern uint8_t sampling_filter[SAMPLING_FILTER_SIZE];

static inline uint8_t *sampling_filter_at(const void *block)
{
	return &sampling_filter[((uint64_t)block >> 4 ^ (uint64_t)block >> 17) &
				(SAMPLING_FILTER_SIZE - 1)];
}

/* Whether an allocation is none of the sample; if so it has been counted. */
static inline bool sampling_skips(size_t size)
{
	if (__builtin_expect(size >= (uint64_t)thread.bytes_left, 0))
		return false;
	thread.bytes_left -= size;
	return true;
}

/* Whether a block that goes was certainly not taken. */
static inline bool sampling_has_skipped(const void *block)
{
	return *sampling_filter_at(block) == 0;
}

/* Samples are taken in this process from now on: the filter is of use. */
void sampling_begin(void);

/* What follows in this ring stands for more, or for less. Without room it is told later. */
void sampling_emit(void);

/* When there is a mean. */
bool sampling_takes_slowly(const void *block, size_t size);
bool sampling_has_slowly(const void *block);
bool sampling_restores_slowly(const void *block);

static inline bool sampling_takes(const void *block, size_t size)
{
	return __builtin_expect(!connected.region->sampling, 1) ||
	       sampling_takes_slowly(block, size);
}

/* Whether a block that goes was taken. */
static inline bool sampling_has(const void *block)
{
	return __builtin_expect(!connected.region->sampling, 1) || sampling_has_slowly(block);
}

/* The same of one that has not gone after all. */
static inline bool sampling_restores(const void *block)
{
	return __builtin_expect(!connected.region->sampling, 1) || sampling_restores_slowly(block);
}
