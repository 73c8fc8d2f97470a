/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "formats/syscap/allocations.h"

void heap_allocations_init(struct heap_allocations *allocations)
{
	*allocations = (struct heap_allocations){ 0 };
	pair_map_init(&allocations->released, HEAP_ALLOCATIONS_RELEASED_MAX);
}

void heap_allocations_deinit(struct heap_allocations *allocations)
{
	free(allocations->stacks);
	free(allocations->addresses);
	free(allocations->blocks);
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
		if (GROWING_LIST_ADD(allocations->stacks, allocations->n_stacks,
				     (struct heap_stack_addresses){ 0 }) < 0)
			return -ENOMEM;
	}
	allocations->stacks[number] = (struct heap_stack_addresses){ allocations->n_addresses, n };
	for (size_t i = 0; i < n; i++) {
		if (GROWING_LIST_ADD(allocations->addresses, allocations->n_addresses,
				     addresses[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

const uint64_t *heap_allocations_stack(const struct heap_allocations *allocations, uint32_t number,
				       size_t *ret_n)
{
	*ret_n = number < allocations->n_stacks ? allocations->stacks[number].n : 0;
	return *ret_n ? allocations->addresses + allocations->stacks[number].first : NULL;
}

/* The entry of a thread's released block. 0; -ENOSPC: too many threads; -ENOMEM. */
static int find_released(struct heap_allocations *allocations, uint64_t process, uint32_t tid,
			 struct heap_event **ret)
{
	uint64_t *known = pair_map_find(&allocations->released, process, tid);
	int r;

	*ret = known ? &allocations->blocks[*known] : NULL;
	if (known)
		return 0;
	r = GROWING_LIST_MAKE_ROOM(allocations->blocks, allocations->n_blocks);
	if (r == 0)
		r = pair_map_add(&allocations->released, process, tid, allocations->n_blocks);
	if (r < 0)
		return r;
	*ret = &allocations->blocks[allocations->n_blocks++];
	**ret = (struct heap_event){ 0 };
	return 0;
}

int heap_allocations_take(struct heap_allocations *allocations, uint64_t process,
			  const struct heap_event *event, struct heap_event *ret_freed,
			  bool *ret_is_due)
{
	struct heap_event *released;
	int r = find_released(allocations, process, event->tid, &released);

	*ret_freed = (struct heap_event){ 0 };
	*ret_is_due = event->kind != HEAP_EVENT_RELEASED && event->kind != HEAP_EVENT_RESTORED;
	if (r == -ENOSPC) { /* then a failed realloc looks like a free */
		*ret_is_due |= event->kind == HEAP_EVENT_RELEASED;
		return 0;
	}
	if (r < 0)
		return r;
	if (event->kind != HEAP_EVENT_RESTORED)
		*ret_freed = *released;
	*released = event->kind == HEAP_EVENT_RELEASED ? *event : (struct heap_event){ 0 };
	return 0;
}
