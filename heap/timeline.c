/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "heap/timeline.h"

/* Joins each two intervals into one. */
static void coarsen(struct timeline *timeline)
{
	uint32_t n = (timeline->n + 1) / 2;

	for (uint32_t i = 0; i < n; i++) {
		struct timeline_interval one = timeline->intervals[2 * i];
		const struct timeline_interval *other = &timeline->intervals[2 * i + 1];

		if (2 * i + 1 < timeline->n) {
			if (other->most_bytes > one.most_bytes)
				one.most_bytes = other->most_bytes;
			one.last_bytes = other->last_bytes;
			one.last_blocks = other->last_blocks;
			one.n_allocated += other->n_allocated;
			one.n_freed += other->n_freed;
		}
		timeline->intervals[i] = one;
	}
	timeline->n = n;
	timeline->length *= 2;
}

struct timeline_interval *timeline_at(struct timeline *timeline, uint64_t time)
{
	uint64_t i;

	if (!timeline->start) {
		timeline->start = time;
		timeline->length = TIMELINE_FIRST_NS;
	}
	while ((i = (time - timeline->start) / timeline->length) >= TIMELINE_INTERVALS)
		coarsen(timeline);
	while (timeline->n <= i) { /* no events in between */
		struct timeline_interval *next = &timeline->intervals[timeline->n];

		memset(next, 0, sizeof(*next));
		if (timeline->n) {
			next->last_bytes = next->most_bytes = next[-1].last_bytes;
			next->last_blocks = next[-1].last_blocks;
		}
		timeline->n++;
	}
	return &timeline->intervals[timeline->n - 1];
}
