/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A heap over time, in a limited number of intervals whose length doubles as the recording grows:
 * the most that was live in each, and what was live at its end.
 */
#pragma once

#include <stdint.h>

enum {
	TIMELINE_INTERVALS = 2048, /* an even number */
	TIMELINE_FIRST_NS = 100000,
};

struct timeline_interval {
	uint64_t most_bytes, last_bytes, last_blocks;
	uint64_t n_allocated, n_freed;
};

struct timeline {
	uint64_t start;	 /* 0: no event yet */
	uint64_t length; /* of an interval, in nanoseconds */
	uint32_t n;
	struct timeline_interval intervals[TIMELINE_INTERVALS];
};

/* The interval of a time; times must not decrease from call to call. */
struct timeline_interval *timeline_at(struct timeline *timeline, uint64_t time);
