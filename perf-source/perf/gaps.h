/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where records of side-band are missing. The kernel tells of a loss by a record in front of the
 * next one that finds room (PERF_RECORD_LOST), which may be much later, or never; the loss began
 * behind the record before. So what comes next in a ring is looked at before anything later is
 * handed out, and a ring that had no room left counts as one that has lost something, until its
 * next record says otherwise.
 */
#pragma once

#include "perf-source/perf/ring.h"

/* Behind the last record that was taken of a ring. */
enum gap {
	GAP_NONE,
	GAP_OPEN, /* something may be missing up to its next record */
	GAP_OVER, /* up to now: it has room again, and nothing has come since */
};

struct gaps {
	struct ring *rings; /* of side-band; borrowed */
	size_t n;
	bool *is_open;
};

int gaps_init(struct gaps *gaps, struct ring *rings, size_t n);
void gaps_deinit(struct gaps *gaps);

/*
 * All rings have just been looked at, at `now`. True: something is missing, up to `*ret_until`;
 * UINT64_MAX: nobody knows yet until when.
 */
bool gaps_look(struct gaps *gaps, uint64_t now, uint64_t *ret_until);

/* The same when a record of a ring was taken that is of `time`. */
bool gaps_take(struct gaps *gaps, size_t ring, uint64_t time, uint64_t *ret_until);
