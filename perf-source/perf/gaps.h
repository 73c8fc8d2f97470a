/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where side-band records are missing. The kernel reports a loss by a PERF_RECORD_LOST in front of
 * the next record that fits, which may be much later, or never; the loss began after the previous
 * record. So each ring's next record is inspected before anything later is handed out, and a ring
 * without room counts as having lost records until its next record shows otherwise.
 */
#pragma once

#include "perf-source/perf/ring.h"

/* What follows the last record taken from a ring. */
enum gap {
	GAP_NONE,
	GAP_OPEN, /* records may be missing up to the ring's next record */
	GAP_OVER, /* up to now: the ring has room again, but no new record */
};

struct gaps {
	struct ring *rings; /* of side-band; borrowed */
	size_t n;
	bool *is_open;
};

int gaps_init(struct gaps *gaps, struct ring *rings, size_t n);
void gaps_deinit(struct gaps *gaps);

/*
 * To be called when all rings have been looked at, at `now`. True: records are missing up to
 * `*ret_until`; UINT64_MAX: the end is not known yet.
 */
bool gaps_look(struct gaps *gaps, uint64_t now, uint64_t *ret_until);

/* The same after a record of `time` was taken from a ring. */
bool gaps_take(struct gaps *gaps, size_t ring, uint64_t time, uint64_t *ret_until);
