/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists on the heap that grow. All of these give 0, or -ENOMEM and nothing has changed; `list` is
 * the pointer to the items, NULL at first.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes it a list of so many items, at least one. */
#define GROWING_LIST_RESIZE(list, n)                                                               \
	({                                                                                         \
		void *resized_ = reallocarray(list, n, sizeof(*(list)));                           \
                                                                                                   \
		if (resized_)                                                                      \
			list = resized_;                                                           \
		resized_ ? 0 : -ENOMEM;                                                            \
	})

/*
 * Makes room for an item behind the `n` that are there. The list is allocated as powers of two, so
 * that `n` says whether it is full: of a list that only grows, or is emptied altogether. One that
 * is drained would be made anew at each of them; it keeps its room by GROWING_LIST_RESERVE().
 */
#define GROWING_LIST_MAKE_ROOM(list, n)                                                            \
	((n) & ((n)-1) ? 0 : GROWING_LIST_RESIZE(list, (n) ? 2 * (n) : 1))

/* Puts an item, an expression, behind the `n` that are there, and counts it. */
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

/* Makes room for `n` items in all, where they come by many or the first ones are small. */
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

/* Makes a list of `n` items one of `n_larger`; the new ones are zero. */
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

/* Gives back what is behind `n` items; that can fail, and does no harm then. */
#define GROWING_LIST_TRIM(list, n) ((void)GROWING_LIST_RESIZE(list, (n) + 1))
