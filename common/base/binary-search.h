/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * The first index from `from` on, below `end`, for which `is_before` does not hold; `end`: there is
 * none. `is_before` is an expression of `i`, and holds for some first ones and for no further one.
 */
#define BINARY_SEARCH(i, from, end, is_before)                                                     \
	({                                                                                         \
		size_t low_ = (from), high_ = (end);                                               \
                                                                                                   \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
                                                                                                   \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})
