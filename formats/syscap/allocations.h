/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For a format that writes each allocation with its whole stack: the addresses of stacks by their
 * numbers, and blocks that realloc(3) has released until it is known whether it has failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stream/heap-events.h"
#include "common/base/pair-map.h"

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
	struct heap_event *blocks; /* that were released; kind 0: none */
	size_t n_blocks;
	uint64_t n_refused;
};

void heap_allocations_init(struct heap_allocations *allocations);
void heap_allocations_deinit(struct heap_allocations *allocations);

/* 0 or -ENOMEM; beyond the limits a stack has no addresses. */
int heap_allocations_add_stack(struct heap_allocations *allocations, uint32_t number,
			       const uint64_t *addresses, size_t n);

/* Those of a stack; it may have none. */
const uint64_t *heap_allocations_stack(const struct heap_allocations *allocations, uint32_t number,
				       size_t *ret_n);

/*
 * Whether an event is to be written now; `ret_freed` is the free of a block that the same thread
 * has released before it, at its own time; address 0: none. 0 or -ENOMEM.
 */
int heap_allocations_take(struct heap_allocations *allocations, uint64_t process,
			  const struct heap_event *event, struct heap_event *ret_freed,
			  bool *ret_is_due);
