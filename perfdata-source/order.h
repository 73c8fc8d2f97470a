/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sorts records by time. perf reads one ring after the other and writes a mark after each round: no
 * record older than the newest one of the previous round will follow
 * (tools/perf/util/ordered-events.c).
 */
#pragma once

#include <linux/perf_event.h>

#include "perfdata-source/events.h"

enum { ORDER_BYTES_MAX = 512 * 1024 * 1024 }; /* queued; beyond that the older half is released */

/* A queued record. */
struct ordered {
	uint64_t time, sequence;
	struct parsed_sample sample; /* points into `bytes` */
	const struct event *event;
	size_t size;
	bool is_in_file; /* in the file with the header, whose bytes stay mapped */
	const struct perf_event_header *bytes; /* of a sample without the bytes after its stack */
	void *owned;			       /* allocation behind `bytes`; NULL: borrowed */
};

/* Whether the record has a time, even 0 as in records that perf synthesizes at its start. */
static inline bool ordered_has_time(const struct ordered *record)
{
	const struct layout *layout = &record->event->layout;

	return layout->sample_type & PERF_SAMPLE_TIME &&
	       (record->bytes->type == PERF_RECORD_SAMPLE || layout->sample_id_all);
}

struct order {
	struct ordered *list;
	size_t n, n_allocated;
	size_t n_bytes;
	uint64_t sequence;
	uint64_t newest, newest_before; /* of this and of the previous round */
	uint64_t n_forced;		/* how often the older half was released early */
};

void order_deinit(struct order *order);

/* Queues a record whose `bytes` stay valid. 0 or -ENOMEM. */
int order_add(struct order *order, const struct ordered *record);

/* Queues a record and copies its bytes. 0 or -ENOMEM. */
int order_add_copy(struct order *order, const struct ordered *record);

/* Ends a round. Returns the time up to which records may be released. */
uint64_t order_end_round(struct order *order);

/* Sorts the queue. Returns how many records are not later than `until`. */
size_t order_sort(struct order *order, uint64_t until);

/* Whether too many bytes are queued; the time up to which to release half of them. */
bool order_is_full(const struct order *order);
uint64_t order_middle(struct order *order);

/* Frees the first `n` records. */
void order_drop(struct order *order, size_t n);
