/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "perf-source/perf/gaps.h"

int gaps_init(struct gaps *gaps, struct ring *rings, size_t n)
{
	*gaps = (struct gaps){ .rings = rings, .n = n };
	gaps->is_open = calloc(n, sizeof(*gaps->is_open));
	return gaps->is_open ? 0 : -ENOMEM;
}

void gaps_deinit(struct gaps *gaps)
{
	free(gaps->is_open);
	gaps->is_open = NULL;
}

static bool is_any_open(const struct gaps *gaps)
{
	for (size_t i = 0; i < gaps->n; i++)
		if (gaps->is_open[i])
			return true;
	return false;
}

static enum gap look(struct ring *ring)
{
	const struct perf_event_header *next = ring_peek(ring);

	if (next)
		return next->type == PERF_RECORD_LOST ? GAP_OPEN : GAP_NONE;
	if (!ring->page || ring->position != ring->filled_at)
		return GAP_NONE;
	return ring_is_filled(ring) ? GAP_OPEN : GAP_OVER;
}

bool gaps_look(struct gaps *gaps, uint64_t now, uint64_t *ret_until)
{
	bool has_gap = false;

	for (size_t i = 0; i < gaps->n; i++) {
		enum gap gap = look(&gaps->rings[i]);

		if (gap == GAP_OVER)
			gaps->rings[i].filled_at = RING_NEVER_FILLED;
		has_gap |= gap != GAP_NONE || gaps->is_open[i];
		gaps->is_open[i] = gap == GAP_OPEN;
	}
	*ret_until = is_any_open(gaps) ? UINT64_MAX : now;
	return has_gap;
}

bool gaps_take(struct gaps *gaps, size_t ring, uint64_t time, uint64_t *ret_until)
{
	bool was_open = gaps->is_open[ring];

	/* GAP_OVER counts as open, too: only gaps_look() closes a gap. */
	gaps->is_open[ring] = look(&gaps->rings[ring]) != GAP_NONE;
	*ret_until = is_any_open(gaps) ? UINT64_MAX : time;
	return was_open || gaps->is_open[ring];
}
