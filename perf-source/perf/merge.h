/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The records of all rings in time order. Each ring is ordered, but a record may become visible
 * after later records of other rings. Whatever happened MERGE_SLACK_NS before a look at all rings
 * is in them by then, so a record is handed out only once it is that old.
 */
#pragma once

#include "perf-source/perf/ring.h"

#define MERGE_SLACK_NS 10000000ULL

struct merge {
	struct ring *rings; /* borrowed */
	size_t n;
	uint64_t *times;    /* of each ring's next record; UINT64_MAX: no record */
	uint64_t *part_ids; /* see merge_expect_parts(); 0: none */
	uint64_t last_time; /* handed out; it never decreases */
	uint64_t n_late;    /* records earlier than last_time, which replaces their time */
};

struct merge_record {
	const struct perf_event_header *header;
	uint64_t time;
	size_t ring;
};

int merge_init(struct merge *merge, struct ring *rings, size_t n);
void merge_deinit(struct merge *merge);

/*
 * Records of an event (by its id) that a BPF program emits, in this ring, in front of a sample:
 * they have the sample's time, and are handed out only when that is there. The kernel takes a
 * sample's time before it runs the program (since 6.2), so their own is later.
 */
void merge_expect_parts(struct merge *merge, size_t ring, uint64_t event_id);

/* Looks at all rings; records up to the returned time may be handed out. */
uint64_t merge_look(struct merge *merge);

/*
 * Takes the next record that is not later than `until`; it is valid until its ring is released. 0
 * or -ENODATA.
 */
int merge_next(struct merge *merge, uint64_t until, struct merge_record *ret);

/* Whether a record is one of those. */
bool merge_is_part(const struct merge *merge, const struct merge_record *record);

/* Gives the space of all records that were handed out back to the kernel. */
void merge_release(struct merge *merge);

/*
 * Calls `show` for the records waiting in a ring, without taking them, until it returns nonzero;
 * returns that value. Starts at `*position` (0: shows all) and moves it behind the last record
 * shown, so that repeated calls show no record twice.
 */
int merge_look_ahead(struct merge *merge, size_t ring, uint64_t *position,
		     int (*show)(const struct perf_event_header *header, void *arg), void *arg);
