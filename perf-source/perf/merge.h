/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of all rings in the order of their times.
 *
 * A ring is ordered in itself; across rings a record may become visible after later ones. But
 * whatever happened MERGE_SLACK before we looked at all the rings is in them by now: a record is
 * handed out only once it is that old.
 */
#pragma once

#include "perf-source/perf/ring.h"

#define MERGE_SLACK_NS 10000000ULL

struct merge {
	struct ring *rings; /* borrowed */
	size_t n;
	uint64_t *times;    /* of each ring's next record; UINT64_MAX: none */
	uint64_t last_time; /* handed out; times never go back */
	uint64_t n_late;    /* records that would have gone back; their time is last_time */
};

struct merge_record {
	const struct perf_event_header *header;
	uint64_t time;
	size_t ring;
};

int merge_init(struct merge *merge, struct ring *rings, size_t n);
void merge_deinit(struct merge *merge);

/* Looks at all rings; records up to the returned time may be handed out. */
uint64_t merge_look(struct merge *merge);

/*
 * The next record that is not later than `until`: 0 and the record; -ENODATA: none. It has been
 * advanced over, and is valid until its ring is released.
 */
int merge_next(struct merge *merge, uint64_t until, struct merge_record *ret);

/* Gives all that was handed out back to the kernel. */
void merge_release(struct merge *merge);

/*
 * Shows the records that wait in a ring without taking them, until `show` returns other than 0;
 * returns that. Those before `*position` are left out, which is behind the last one shown then:
 * where a ring is followed, none is shown twice. (0: all.)
 */
int merge_look_ahead(struct merge *merge, size_t ring, uint64_t *position,
		     int (*show)(const struct perf_event_header *header, void *arg), void *arg);
