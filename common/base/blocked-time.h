/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long calls took that wait for another process: why records were lost meanwhile. */
#pragma once

#include "common/base/clock.h"
#include "common/base/counters.h"

struct blocked_time {
	uint64_t total_ns, longest_ns;
};

/* Adds a call that began at `since` (CLOCK_MONOTONIC). */
static inline void blocked_time_add(struct blocked_time *blocked, uint64_t since)
{
	uint64_t ns = clock_now(CLOCK_MONOTONIC) - since;

	blocked->total_ns += ns;
	if (ns > blocked->longest_ns)
		blocked->longest_ns = ns;
}

/* Sets the counters "all" and "longest" of a group to milliseconds. */
static inline void blocked_time_count(const struct blocked_time *blocked, struct counters *counters,
				      const char *group)
{
	*counters_get(counters, group, "all") = blocked->total_ns / NANOSECONDS_A_MILLISECOND;
	*counters_get(counters, group, "longest") = blocked->longest_ns / NANOSECONDS_A_MILLISECOND;
}
