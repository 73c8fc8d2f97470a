/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stack of a call, from its stack pointer on. Nothing is read in place but a stack that cannot
 * go while we are on it: the thread's own, and the process's first. Any other (of a coroutine, of a
 * signal, of memory that has become one) is copied by the kernel, which fails where a read would
 * have killed the program. What was found out about such a stack holds for one call. (In
 * its page, above the stack pointer, anything can be read: we write there ourselves.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload-source/shared/heap-ring.h"

/* What a thread may read in place: its own stack. */
struct stack_own {
	uint64_t low, high; /* both 0: it is not known, or lost */
	uint32_t tid;
	bool has_first; /* the process's first stack, too, while that is whole */
	bool is_lost;	/* for good: a part of it was taken away, maybe by another thread */
};

struct stack_view {
	uint64_t start;	   /* the stack pointer */
	uint64_t size;	   /* bytes from there on that can be read, so far */
	const char *bytes; /* where they are: in place, or in `copy` */
	bool is_in_place;  /* there will not be more */
	uint32_t tid;	   /* of the thread that it is the stack of */
	char copy[HEAP_RAW_BYTES_MAX] __attribute__((aligned(8)));
};

/* The stack that the C library has given this thread; asks it, and may allocate. */
struct stack_own stack_own_of_thread(uint32_t tid);

/*
 * A program takes memory away that may be a part of a stack, as guards between coroutines that it
 * has put there: that one is not read in place any more. Whether it is of this one.
 */
bool stack_own_lose(struct stack_own *own, const void *address, uint64_t size);

/* Whether it is so near that it may be of this thread's stack, whose bounds are not known. */
bool stack_is_near(const void *address, uint64_t size);

/* The same of the first stack, or something else has come to lie where only that was to be. */
void stack_lose_first(const void *address, uint64_t size);

/* Before the first read of a call. `own` is this thread's. */
void stack_view_begin(struct stack_view *view, const struct stack_own *own, uint64_t sp);

/* Has the kernel copy more, so that `size` bytes can be read; false: that many are not to be had.
 */
bool stack_view_extend(struct stack_view *view, uint64_t size);

/* A word of the stack; false: it is none of what can be read. */
static inline bool stack_view_word(struct stack_view *view, uint64_t address, uint64_t *ret)
{
	uint64_t end = address - view->start + sizeof(*ret);

	if (__builtin_expect(end > view->size || end < sizeof(*ret) || address % sizeof(*ret), 0) &&
	    (address < view->start || address % sizeof(*ret) || !stack_view_extend(view, end)))
		return false;
	*ret = *(const uint64_t *)(view->bytes + (address - view->start));
	return true;
}
