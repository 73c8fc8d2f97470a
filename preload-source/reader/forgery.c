/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "common/base/sum.h"
#include "preload-source/reader/forgery.h"

void forgery_found(struct traced *traced, struct traced_ring *ring)
{
	traced->is_forged = true;
	ring->has_next = false;
	ring_reader_give_up(&ring->reader);
}

bool forgery_is_sampling_ours(const struct traced *traced, uint64_t sampling)
{
	uint64_t each = traced->first_sampling;

	while (each != sampling && each != traced->sampling)
		each = traced_next_sampling(each);
	return each == sampling;
}

bool forgery_is_beyond_all(struct traced *traced, const struct ring_record *record)
{
	if (record->kind == HEAP_RECORD_ALLOCATED || record->kind == HEAP_RECORD_MAPPED)
		sum_add(&traced->n_bytes, record->size);
	return traced->n_bytes > HEAP_TOTAL_MAX;
}

uint64_t forgery_count_on(struct traced *traced, const uint64_t *count, uint64_t *last)
{
	uint64_t n = __atomic_load_n(count, __ATOMIC_RELAXED), before = *last;

	*last = n;
	if (n >= before && n <= HEAP_LOST_MAX)
		return n - before;
	traced->is_forged = true;
	return 0;
}

void forgery_find_times_ahead(struct traced *traced)
{
	uint64_t latest = traced->time_map.to_ns + NANOSECONDS_A_SECOND;

	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++) {
		struct traced_ring *ring = &traced->rings[i];

		if (ring->has_next && time_map_ns(&traced->time_map, ring->next.time) > latest)
			forgery_found(traced, ring);
	}
}

void forgery_find_broken(struct traced *traced)
{
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++)
		traced->is_forged |= traced->rings[i].reader.is_broken;
}

bool forgery_has_counted_on(const struct heap_lost *lost, const struct heap_lost *emitted)
{
	return heap_lost_is_possible(lost) && lost->n_allocated >= emitted->n_allocated &&
	       lost->n_freed >= emitted->n_freed && lost->n_bytes >= emitted->n_bytes &&
	       lost->blocked_ns >= emitted->blocked_ns;
}

int forgery_emit(struct traced *traced, struct heap_encoder *encoder)
{
	const struct wire_heap_lost record = {
		.time = traced->last_ns,
		.process = traced->process.upid,
		.n_calls = 1,
		.flags = WIRE_heap_lost_flags_FORGED,
	};
	int r;

	if (!traced->is_forged || traced->is_forged_emitted)
		return 0;
	traced->is_forged_emitted = true;
	r = heap_encoder_flush(encoder);
	stage_miss(encoder->stage, "unheard", record.n_calls);
	stage_warn(encoder->stage,
		   "process %" PRIu32
		   " wrote to the memory through which its heap is recorded: none of its heap data "
		   "can be trusted",
		   traced->process.pid);
	return r < 0 ? r : stage_put(encoder->stage, WIRE_RECORD_heap_lost, &record);
}
