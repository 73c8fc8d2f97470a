/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A heap and the profile that its stacks are in. Any of its amounts can be looked at as samples of
 * that profile, with the amounts as their weights: so trees, functions and callers are those of
 * other profiles.
 */
#pragma once

#include "heap/heap.h"
#include "profile/profile.h"

enum heap_unit {
	HEAP_BYTES,
	HEAP_BLOCKS,
};

/* For stacks.h's `add_heap_stack`. 0 or -ENOMEM. */
int heap_profile_add_stack(struct heap *heap, struct profile *profile,
			   const struct named_stack *stack, const struct wire_heap_stack *record);

/* Makes the samples of the profile those of a metric, in place of what there was. 0 or -ENOMEM. */
int heap_profile_select(const struct heap *heap, struct profile *profile, enum heap_metric metric,
			enum heap_unit unit);

static inline uint64_t heap_amount_in(struct heap_amount amount, enum heap_unit unit)
{
	return unit == HEAP_BYTES ? amount.bytes : (amount.n + HEAP_ONE / 2) / HEAP_ONE;
}
