/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list on the heap that grows by one item at a time, and is allocated as powers of two. */
#pragma once

#include <errno.h>
#include <stdlib.h>

static inline void *growing_list_larger(void *list, size_t n, size_t size)
{
	size_t n_larger = n ? 2 * n : 1;

	return n & (n - 1) ? list : reallocarray(list, n_larger, size);
}

/* Makes room for an item behind the `n` that are there: 0, or -ENOMEM and nothing has changed. */
#define GROWING_LIST_MAKE_ROOM(list, n)                                                            \
	({                                                                                         \
		void *larger_ = growing_list_larger(list, n, sizeof(*(list)));                     \
                                                                                                   \
		if (larger_)                                                                       \
			list = larger_;                                                            \
		larger_ ? 0 : -ENOMEM;                                                             \
	})
