/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture-sink/heap-allocations.h"
#include "common/growing-list.h"

void heap_allocations_init(struct heap_allocations *allocations)
{
	*allocations = (struct heap_allocations){ 0 };
	pair_map_init(&allocations->released, HEAP_ALLOCATIONS_RELEASED_MAX);
}

void heap_allocations_deinit(struct heap_allocations *allocations)
{
	free(allocations->stacks);
	free(allocations->addresses);
	pair_map_deinit(&allocations->released);
}

int heap_allocations_add_stack(struct heap_allocations *allocations, uint32_t number,
			       const uint64_t *addresses, size_t n)
{
	if (number >= HEAP_ALLOCATIONS_STACKS_MAX ||
	    allocations->n_addresses + n > HEAP_ALLOCATIONS_ADDRESSES_MAX) {
		allocations->n_refused++;
		return 0;
	}
	while (allocations->n_stacks <= number) {
		if (GROWING_LIST_MAKE_ROOM(allocations->stacks, allocations->n_stacks) < 0)
			return -ENOMEM;
		allocations->stacks[allocations->n_stacks++] = (struct heap_stack_addresses){ 0 };
	}
	allocations->stacks[number] = (struct heap_stack_addresses){ allocations->n_addresses, n };
	for (size_t i = 0; i < n; i++) {
		if (GROWING_LIST_MAKE_ROOM(allocations->addresses, allocations->n_addresses) < 0)
			return -ENOMEM;
		allocations->addresses[allocations->n_addresses++] = addresses[i];
	}
	return 0;
}

const uint64_t *heap_allocations_stack(const struct heap_allocations *allocations, uint32_t number,
				       size_t *ret_n)
{
	*ret_n = number < allocations->n_stacks ? allocations->stacks[number].n : 0;
	return *ret_n ? allocations->addresses + allocations->stacks[number].first : NULL;
}

int heap_allocations_take(struct heap_allocations *allocations, uint64_t process,
			  const struct heap_event *event, uint64_t *ret_freed, bool *ret_is_due)
{
	uint64_t *released = pair_map_find(&allocations->released, process, event->tid);
	int r;

	*ret_freed =
		released && *released && event->kind != HEAP_EVENT_RESTORED ? *released - 1 : 0;
	*ret_is_due = event->kind == HEAP_EVENT_ALLOCATED || event->kind == HEAP_EVENT_FREED;
	if (released) {
		*released = event->kind == HEAP_EVENT_RELEASED ? event->address + 1 : 0;
		return 0;
	}
	if (event->kind != HEAP_EVENT_RELEASED)
		return 0;
	r = pair_map_add(&allocations->released, process, event->tid, event->address + 1);
	*ret_is_due |= r == -ENOSPC; /* then a realloc that fails looks like a free */
	return r == -ENOSPC ? 0 : r;
}
