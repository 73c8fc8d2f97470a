/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which allocations are recorded: all, or samples of them, as a Poisson process over the bytes that
 * a thread allocates (one of `size` is taken with the probability 1 - exp(-size / mean)). Blocks
 * that were taken are known by their addresses, so that the frees of all others cost nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload-source/target/thread.h"

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
