/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/source/perf-record.h"
#include "perf-source/perf/merge.h"

int merge_init(struct merge *merge, struct ring *rings, size_t n)
{
	*merge = (struct merge){ .rings = rings, .n = n };
	merge->times = calloc(n, sizeof(*merge->times));
	merge->part_ids = calloc(n, sizeof(*merge->part_ids));
	return merge->times && merge->part_ids ? 0 : -ENOMEM;
}

void merge_expect_parts(struct merge *merge, size_t ring, uint64_t event_id)
{
	merge->part_ids[ring] = event_id;
}

void merge_deinit(struct merge *merge)
{
	free(merge->times);
	free(merge->part_ids);
	merge->times = merge->part_ids = NULL;
}

static bool is_part(const struct merge *merge, size_t i, const struct perf_event_header *header)
{
	const struct perf_record_raw *raw = (const void *)header;

	return merge->part_ids[i] && header->type == PERF_RECORD_SAMPLE &&
	       header->size >= sizeof(*raw) && raw->event_id == merge->part_ids[i];
}

/* The time of the first record behind the parts that wait; UINT64_MAX: it is not there yet. */
static uint64_t time_behind_parts(const struct merge *merge, size_t i)
{
	struct ring ahead = merge->rings[i];
	const struct perf_event_header *header;
	_Alignas(8) char wrapped[RING_RECORD_MAX];

	ahead.wrapped = wrapped;
	while ((header = ring_peek(&ahead)) && is_part(merge, i, header))
		ring_advance(&ahead, header);
	return header ? perf_record_time(header) : UINT64_MAX;
}

static void update_time(struct merge *merge, size_t i)
{
	const struct perf_event_header *header = ring_peek(&merge->rings[i]);

	if (header && is_part(merge, i, header))
		merge->times[i] = time_behind_parts(merge, i);
	else
		merge->times[i] = header ? perf_record_time(header) : UINT64_MAX;
}

/* The same when `taken` is handed out: all parts of a sample have one time. */
static void advance(struct merge *merge, size_t i, const struct perf_event_header *taken)
{
	bool was_part = is_part(merge, i, taken);
	const struct perf_event_header *next;

	ring_advance(&merge->rings[i], taken);
	next = ring_peek(&merge->rings[i]);
	if (!was_part || !next || !is_part(merge, i, next))
		update_time(merge, i);
}

uint64_t merge_look(struct merge *merge)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	for (size_t i = 0; i < merge->n; i++) {
		ring_look(&merge->rings[i]);
		update_time(merge, i);
	}
	return now - MERGE_SLACK_NS;
}

int merge_next(struct merge *merge, uint64_t until, struct merge_record *ret)
{
	size_t first = 0;

	for (size_t i = 1; i < merge->n; i++)
		if (merge->times[i] < merge->times[first])
			first = i;
	if (merge->times[first] == UINT64_MAX || merge->times[first] > until)
		return -ENODATA;
	ret->header = ring_peek(&merge->rings[first]);
	ret->ring = first;
	ret->time = merge->times[first];
	if (ret->time < merge->last_time) {
		ret->time = merge->last_time;
		merge->n_late++;
	}
	merge->last_time = ret->time;
	advance(merge, first, ret->header);
	return 0;
}

bool merge_is_part(const struct merge *merge, const struct merge_record *record)
{
	return is_part(merge, record->ring, record->header);
}

void merge_release(struct merge *merge)
{
	for (size_t i = 0; i < merge->n; i++)
		ring_release(&merge->rings[i]);
}

int merge_look_ahead(struct merge *merge, size_t ring, uint64_t *position,
		     int (*show)(const struct perf_event_header *header, void *arg), void *arg)
{
	struct ring ahead = merge->rings[ring];
	const struct perf_event_header *header;
	_Alignas(8) char wrapped[RING_RECORD_MAX];
	int r = 0;

	ahead.wrapped = wrapped;
	if (ahead.position < *position)
		ahead.position = *position;
	ring_look(&ahead);
	if (ahead.head - merge->rings[ring].position < ahead.position - merge->rings[ring].position)
		ahead.position = merge->rings[ring].position; /* it was opened again */
	while (r == 0 && (header = ring_peek(&ahead))) {
		r = show(header, arg);
		ring_advance(&ahead, header);
	}
	*position = ahead.position;
	return r;
}
