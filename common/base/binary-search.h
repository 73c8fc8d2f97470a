/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Returns the first index in [from, end) for which `is_before` is false, or `end`. `is_before` is
 * an expression of `i` that is true for the first indices and false for all later ones.
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
