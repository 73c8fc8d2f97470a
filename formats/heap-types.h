/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The amounts of a heap by the names that Go's own heap profiles have given them, and the peak's.
 */
#pragma once

#include "heap/heap-profile.h"

struct heap_type {
	const char *name;
	enum heap_metric metric;
	enum heap_unit unit;
};

enum { N_HEAP_TYPES = 6 };

extern const struct heap_type heap_types[N_HEAP_TYPES];

static inline const char *heap_type_unit(const struct heap_type *type)
{
	return type->unit == HEAP_BYTES ? "bytes" : "count";
}

static inline uint64_t heap_type_amount(const struct heap_type *type,
					const struct heap_stack *stack)
{
	return heap_amount_in(heap_stack_amount(stack, type->metric), type->unit);
}
