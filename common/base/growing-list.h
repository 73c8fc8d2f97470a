/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing lists on the heap; `list` is NULL at first. Results are 0, or -ENOMEM and no change. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reallocates the list for `n` items, at least one. */
#define GROWING_LIST_RESIZE(list, n)                                                               \
	({                                                                                         \
		void *resized_ = reallocarray(list, n, sizeof(*(list)));                           \
                                                                                                   \
		if (resized_)                                                                      \
			list = resized_;                                                           \
		resized_ ? 0 : -ENOMEM;                                                            \
	})

/*
 * Makes room for one more item. Sizes are powers of two, so `n` alone shows whether a list is full,
 * provided that it only grows or is emptied at once. A list that is drained item by item would be
 * reallocated at each power of two: it uses GROWING_LIST_RESERVE().
 */
#define GROWING_LIST_MAKE_ROOM(list, n)                                                            \
	((n) & ((n)-1) ? 0 : GROWING_LIST_RESIZE(list, (n) ? 2 * (n) : 1))

/* Appends an item, an expression, and increments `n`. */
#define GROWING_LIST_ADD(list, n, ...)                                                             \
	({                                                                                         \
		int added_ = GROWING_LIST_MAKE_ROOM(list, n);                                      \
                                                                                                   \
		if (added_ == 0)                                                                   \
			(list)[(n)++] = (__VA_ARGS__);                                             \
		added_;                                                                            \
	})

static inline size_t growing_list_doubled(size_t n_allocated, size_t n_at_first, size_t n)
{
	size_t doubled = n_allocated ? n_allocated : n_at_first;

	while (doubled < n)
		doubled *= 2;
	return doubled;
}

/* Makes room for `n` items in total, for lists of small items or that grow by many at a time. */
#define GROWING_LIST_RESERVE(list, n_allocated, n_at_first, n)                                     \
	({                                                                                         \
		size_t doubled_ = growing_list_doubled(n_allocated, n_at_first, n);                \
		int reserved_ =                                                                    \
			doubled_ == (n_allocated) ? 0 : GROWING_LIST_RESIZE(list, doubled_);       \
                                                                                                   \
		if (reserved_ == 0)                                                                \
			n_allocated = doubled_;                                                    \
		reserved_;                                                                         \
	})

/* Extends a list of `n` items to `n_larger`; the new ones are zero. */
#define GROWING_LIST_EXTEND(list, n, n_larger)                                                     \
	({                                                                                         \
		size_t larger_ = (n_larger);                                                       \
		int extended_ = GROWING_LIST_RESIZE(list, larger_);                                \
                                                                                                   \
		if (extended_ == 0) {                                                              \
			memset((list) + (n), 0, (larger_ - (n)) * sizeof(*(list)));                \
			n = larger_;                                                               \
		}                                                                                  \
		extended_;                                                                         \
	})

/* Frees the memory behind `n` items, but for one. Failure is harmless. */
#define GROWING_LIST_TRIM(list, n) ((void)GROWING_LIST_RESIZE(list, (n) + 1))
