/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/growing-list.h"
#include "perf-source/perf/sample-parts.h"

void sample_parts_deinit(struct sample_parts *parts)
{
	free(parts->deeper);
	*parts = (struct sample_parts){ 0 };
}

void sample_parts_clear(struct sample_parts *parts, struct ring *ring)
{
	parts->context = parts->walk = parts->words = parts->stack = NULL;
	parts->n = 0;
	parts->tid = parts->cut = 0;
	ring->held = RING_NOTHING_HELD;
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

/* Whether a part is of the same sample as the part before it: they come in order of their kinds. */
static bool goes_on(const struct sample_parts *parts, const struct perf_record_raw *record,
		    const struct sample_part *part)
{
	if (parts->tid != record->tid || parts->sp != part->sp || parts->cut)
		return false;
	if (part->kind == SAMPLE_PART_DEEPER)
		return parts->stack && parts->end == part->address;
	return part->kind > parts->last;
}

static int add_deeper(struct sample_parts *parts, const struct sample_part *part)
{
	int r = 0;

	if (part->size)
		r = GROWING_LIST_RESERVE(parts->deeper, parts->n_allocated, 16, parts->n + 1);
	if (part->size && r == 0)
		parts->deeper[parts->n++] = part;
	return r;
}

/* Adds a part of the same sample as those before it. */
static int add(struct sample_parts *parts, const struct sample_part *part)
{
	parts->last = part->kind;
	switch (part->kind) {
	case SAMPLE_PART_CONTEXT:
		parts->context = part;
		return 0;
	case SAMPLE_PART_WALK:
		parts->walk = part;
		return 0;
	case SAMPLE_PART_WORDS:
		parts->words = part;
		return 0;
	default:
		parts->cut = part->end;
		parts->end = part->address + part->size;
	}
	if (part->kind == SAMPLE_PART_DEEPER)
		return add_deeper(parts, part);
	parts->stack = part;
	return 0;
}

const struct sample_part *sample_part_of(const struct perf_record_raw *record)
{
	const struct sample_part *part = (const void *)record->data;

	return perf_record_raw_has(record, 0, sizeof(*part)) &&
			       perf_record_raw_has(record, sizeof(*part), part->size) &&
			       part->kind <= SAMPLE_PART_DEEPER
		       ? part
		       : NULL;
}

int sample_parts_take(struct sample_parts *parts, struct ring *ring,
		      const struct perf_record_raw *record)
{
	const struct sample_part *part = sample_part_of(record);

	if (!part || part->kind == SAMPLE_PART_MEMORY)
		return 0;
	if (!goes_on(parts, record, part)) {
		begin(parts, ring, record, part);
		if (part->kind == SAMPLE_PART_DEEPER) /* what it continues is lost */
			return 0;
	}
	return add(parts, part);
}

bool sample_parts_are_of(const struct sample_parts *parts, uint32_t tid, uint64_t sp)
{
	return (parts->context || parts->walk || parts->words || parts->stack) &&
	       parts->tid == tid && parts->sp == sp;
}

int sample_parts_put(const struct sample_parts *parts, struct stage *stage)
{
	int r = 0;

	for (size_t i = 0; i < parts->n && r == 0; i++) {
		const struct sample_part *part = parts->deeper[i];
		const struct wire_stack_part out = {
			.tid = parts->tid,
			.address = part->address,
			.bytes = { part + 1, part->size },
		};

		r = stage_put(stage, WIRE_RECORD_stack_part, &out);
	}
	return r;
}
