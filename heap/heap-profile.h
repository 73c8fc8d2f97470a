/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A heap and the profile that has its stacks. Any amount of the heap can become the weights of that
 * profile's samples, so trees, functions and callers are computed as in other profiles.
 */
#pragma once

#include "heap/heap.h"
#include "profile/profile.h"

enum heap_unit {
	HEAP_BYTES,
	HEAP_BLOCKS,
};

/* For `add_heap_stack` of stacks.h. 0 or -ENOMEM. */
int heap_profile_add_stack(struct heap *heap, struct profile *profile,
			   const struct named_stack *stack, const struct wire_heap_stack *record);

/* Replaces the profile's samples by the amounts of a metric. 0 or -ENOMEM. */
int heap_profile_select(const struct heap *heap, struct profile *profile, enum heap_metric metric,
			enum heap_unit unit);

static inline uint64_t heap_amount_in(struct heap_amount amount, enum heap_unit unit)
{
	return unit == HEAP_BYTES ? amount.bytes : (amount.n + HEAP_ONE / 2) / HEAP_ONE;
}
