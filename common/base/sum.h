/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums of numbers that outside data tells. A forged stream, capture or file can tell any, and a sum
 * that has wrapped around looks like an honest one. So a sum stays at SUM_FULL, which means "more
 * than can be counted": nothing honest comes near it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SUM_FULL UINT64_MAX

/* false: there is no room for it, and the sum is SUM_FULL from now on. */
static inline bool sum_add(uint64_t *sum, uint64_t more)
{
	if (!__builtin_add_overflow(*sum, more, sum))
		return *sum != SUM_FULL;
	*sum = SUM_FULL;
	return false;
}

/* What was added before. A sum that is full stays so, and none goes below 0. */
static inline void sum_take_off(uint64_t *sum, uint64_t less)
{
	if (*sum != SUM_FULL)
		*sum = less < *sum ? *sum - less : 0;
}
