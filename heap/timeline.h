/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A heap over time, in a fixed number of intervals that get longer as the recording does: what was
 * alive at most in each of them, and at its end.
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
	uint64_t start;	 /* 0: nothing has come yet */
	uint64_t length; /* of an interval, in nanoseconds */
	uint32_t n;
	struct timeline_interval intervals[TIMELINE_INTERVALS];
};

/* The interval of a time, which is not before any other that was asked for. */
struct timeline_interval *timeline_at(struct timeline *timeline, uint64_t time);
