/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saturating sums of numbers from outside data. A forged stream, capture or file can hold any
 * number, and a sum that wrapped around would look valid. So a sum stays at SUM_FULL, "more than
 * can be counted", which no genuine sum comes near.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SUM_FULL UINT64_MAX

/* Returns false if the sum has overflowed; it stays SUM_FULL from then on. */
static inline bool sum_add(uint64_t *sum, uint64_t more)
{
	if (!__builtin_add_overflow(*sum, more, sum))
		return *sum != SUM_FULL;
	*sum = SUM_FULL;
	return false;
}

/* Subtracts what was added before. A full sum stays full, and no sum goes below 0. */
static inline void sum_take_off(uint64_t *sum, uint64_t less)
{
	if (*sum != SUM_FULL)
		*sum = less < *sum ? *sum - less : 0;
}
