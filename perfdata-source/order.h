/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts records in the order of their times. perf reads one ring after the other and writes a mark
 * after each round: what is older than the newest record of the round before will not come any
 * more (tools/perf/util/ordered-events.c).
 */
#pragma once

#include <linux/perf_event.h>

#include "perfdata-source/events.h"

enum { ORDER_BYTES_MAX = 512 * 1024 * 1024 }; /* that wait; beyond it the older half goes on */

/* A record that waits for its turn. */
struct ordered {
	uint64_t time, sequence;
	struct parsed_sample sample; /* of a sample: it points into `bytes` */
	const struct event *event;
	size_t size;
	bool is_in_file; /* in the one with the header, where its bytes stay */
	const struct perf_event_header *bytes; /* of a sample without what is behind its stack */
	void *owned;			       /* the copy that `bytes` is, NULL: it lasts anyway */
};

/* Whether it tells when it was, even if that is 0: what perf has made up at its start. */
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
	uint64_t newest, newest_before; /* of this round, of the one before */
	uint64_t n_forced;		/* how often there were too many bytes */
};

void order_deinit(struct order *order);

/* Takes a record whose `bytes`, `size` of them, last. 0 or -ENOMEM. */
int order_add(struct order *order, const struct ordered *record);

/* The same of bytes that do not last: they are copied. */
int order_add_copy(struct order *order, const struct ordered *record);

/* A round is over: what may go on now, up to this time. */
uint64_t order_end_round(struct order *order);

/* Sorts; how many of the first records are not later than `until`. */
size_t order_sort(struct order *order, uint64_t until);

/* Whether too many bytes wait; and up to what time half of them would go. */
bool order_is_full(const struct order *order);
uint64_t order_middle(struct order *order);

/* Frees the first `n`, which have been taken. */
void order_drop(struct order *order, size_t n);
