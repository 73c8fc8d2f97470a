/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/growing-list.h"
#include "perf-source/perf/sample-parts.h"

void sample_parts_deinit(struct sample_parts *parts)
{
	free(parts->list);
	*parts = (struct sample_parts){ 0 };
}

void sample_parts_clear(struct sample_parts *parts, struct ring *ring)
{
	parts->context = NULL;
	parts->n = 0;
	parts->tid = parts->cut = 0;
	ring->held = RING_NOTHING_HELD;
}

static int add(struct sample_parts *parts, const struct sample_part *part)
{
	int r = GROWING_LIST_RESERVE(parts->list, parts->n_allocated, 16, parts->n + 1);

	if (r < 0)
		return r;
	parts->list[parts->n++] = part;
	parts->end = part->address + part->size;
	return 0;
}

/* The program emits all parts of one sample, and then those of the next. */
static void begin(struct sample_parts *parts, struct ring *ring,
		  const struct perf_record_raw *record, const struct sample_part *part)
{
	sample_parts_clear(parts, ring);
	ring->held = ring->position - record->header.size;
	parts->tid = record->tid;
	parts->sp = part->sp;
}

/* Whether a part is of the same sample as the part before it. */
static bool goes_on(const struct sample_parts *parts, const struct perf_record_raw *record,
		    const struct sample_part *part)
{
	if (parts->tid != record->tid || parts->sp != part->sp || parts->cut ||
	    part->kind == SAMPLE_PART_CONTEXT)
		return false;
	return parts->n ? parts->end == part->address : parts->context != NULL;
}

int sample_parts_take(struct sample_parts *parts, struct ring *ring,
		      const struct perf_record_raw *record)
{
	const struct sample_part *part = (const void *)record->data;

	if (!perf_record_raw_has(record, 0, sizeof(*part)) ||
	    !perf_record_raw_has(record, sizeof(*part), part->size))
		return 0;
	if (!goes_on(parts, record, part))
		begin(parts, ring, record, part);
	if (part->kind == SAMPLE_PART_CONTEXT) {
		parts->context = part;
		return 0;
	}
	parts->cut = part->end;
	return part->size ? add(parts, part) : 0;
}

const struct sample_part *sample_parts_context(const struct sample_parts *parts, uint32_t tid,
					       uint64_t sp)
{
	return parts->tid == tid && parts->sp == sp ? parts->context : NULL;
}

bool sample_parts_are_of(const struct sample_parts *parts, uint32_t tid, uint64_t sp,
			 size_t stack_size)
{
	return parts->tid == tid && parts->sp == sp && parts->cut &&
	       (!parts->n || parts->list[0]->address - sp <= stack_size);
}

int sample_parts_put(const struct sample_parts *parts, struct stage *stage)
{
	int r = 0;

	for (size_t i = 0; i < parts->n && r == 0; i++) {
		const struct sample_part *part = parts->list[i];
		const struct wire_stack_part out = {
			.tid = parts->tid,
			.address = part->address,
			.bytes = { part + 1, part->size },
		};

		r = stage_put(stage, WIRE_RECORD_stack_part, &out);
	}
	return r;
}
