/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For formats that write each allocation with its whole stack: keeps the addresses of stacks by
 * number, and the blocks that realloc(3) has released until its outcome is known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "common/stream/heap-events.h"

enum {
	HEAP_ALLOCATIONS_STACKS_MAX = 1 << 22,
	HEAP_ALLOCATIONS_ADDRESSES_MAX = 1 << 26, /* of all stacks: 512 MiB */
	HEAP_ALLOCATIONS_RELEASED_MAX = 1 << 20,  /* threads */
};

struct heap_allocations {
	struct heap_stack_addresses {
		size_t first;
		uint32_t n;
	} * stacks; /* by number */
	size_t n_stacks;
	uint64_t *addresses;
	size_t n_addresses;
	struct pair_map released;  /* (process, tid) → index of `blocks` */
	struct heap_event *blocks; /* released blocks; kind 0: none */
	size_t n_blocks;
	uint64_t n_refused;
};

void heap_allocations_init(struct heap_allocations *allocations);
void heap_allocations_deinit(struct heap_allocations *allocations);

/* Keeps the addresses of a stack; beyond the limits it has none. 0 or -ENOMEM. */
int heap_allocations_add_stack(struct heap_allocations *allocations, uint32_t number,
			       const uint64_t *addresses, size_t n);

/* The addresses of a stack; there may be none. */
const uint64_t *heap_allocations_stack(const struct heap_allocations *allocations, uint32_t number,
				       size_t *ret_n);

/*
 * Decides whether an event is written now (`ret_is_due`). `ret_freed` is a block that the same
 * thread released before, freed at the time of that release; address 0: none. 0 or -ENOMEM.
 */
int heap_allocations_take(struct heap_allocations *allocations, uint64_t process,
			  const struct heap_event *event, struct heap_event *ret_freed,
			  bool *ret_is_due);
