/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call's stack, from its stack pointer on. Only stacks that cannot be unmapped while we run on
 * them are read in place: the thread's own and the process's first one. Any other (of a coroutine,
 * a signal, or memory that became a stack) is copied by the kernel, which fails where a read would
 * kill the program; its bounds are found anew in each call. (Above the stack pointer all of its
 * page is readable: we write there ourselves.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload-source/shared/heap-ring.h"

/* The stack that a thread may read in place: its own. */
struct stack_own {
	uint64_t low, high; /* both 0: unknown */
	uint32_t tid;
	bool has_first; /* the process's first stack, too, unless that is lost */
	bool is_lost;	/* permanent: a part was unmapped or protected, maybe by another thread */
};

struct stack_view {
	uint64_t start;	   /* the stack pointer */
	uint64_t size;	   /* bytes readable from there on, so far */
	const char *bytes; /* these bytes: in place, or in `copy` */
	bool is_in_place;  /* `size` is final */
	uint32_t tid;	   /* of the stack's thread */
	char copy[HEAP_RAW_BYTES_MAX] __attribute__((aligned(8)));
};

/* The stack that the C library gave this thread. Calls the C library, which may allocate. */
struct stack_own stack_own_of_thread(uint32_t tid);

/*
 * Marks the stack as lost, so that it is not read in place any more, if memory that the program
 * unmaps or protects is a part of it (such as guards between coroutines on it). Whether it is.
 */
bool stack_own_lose(struct stack_own *own, const void *address, uint64_t size);

/* Whether memory is near enough to be part of this thread's stack, if its bounds are unknown. */
bool stack_is_near(const void *address, uint64_t size);

/* The same for the first stack, also if other memory was mapped where only that stack should be. */
void stack_lose_first(const void *address, uint64_t size);

/* Must precede the first read of a call. `own` is this thread's. */
void stack_view_begin(struct stack_view *view, const struct stack_own *own, uint64_t sp);

/* Has the kernel copy more, so that `size` bytes are readable; false: so many are not. */
bool stack_view_extend(struct stack_view *view, uint64_t size);

/* Reads a word of the stack; false: it is not readable. */
static inline bool stack_view_word(struct stack_view *view, uint64_t address, uint64_t *ret)
{
	uint64_t end = address - view->start + sizeof(*ret);

	if (__builtin_expect(end > view->size || end < sizeof(*ret) || address % sizeof(*ret), 0) &&
	    (address < view->start || address % sizeof(*ret) || !stack_view_extend(view, end)))
		return false;
	*ret = *(const uint64_t *)(view->bytes + (address - view->start));
	return true;
}
