/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/growing-list.h"
#include "perf-source/perf/stack-parts.h"

void stack_parts_deinit(struct stack_parts *parts)
{
	free(parts->list);
	*parts = (struct stack_parts){ 0 };
}

void stack_parts_clear(struct stack_parts *parts, struct ring *ring)
{
	parts->n = 0;
	parts->tid = parts->cut = 0;
	ring->held = RING_NOTHING_HELD;
}

static int add(struct stack_parts *parts, const struct stack_part *part)
{
	int r = GROWING_LIST_RESERVE(parts->list, parts->n_allocated, 16, parts->n + 1);

	if (r < 0)
		return r;
	parts->list[parts->n++] = part;
	parts->end = part->address + part->size;
	return 0;
}

/* The program emits all parts of one sample, and then those of the next. */
static void begin(struct stack_parts *parts, struct ring *ring,
		  const struct perf_record_raw *record, const struct stack_part *part)
{
	stack_parts_clear(parts, ring);
	ring->held = ring->position - record->header.size;
	parts->tid = record->tid;
	parts->sp = part->sp;
	parts->end = part->address;
}

int stack_parts_take(struct stack_parts *parts, struct ring *ring,
		     const struct perf_record_raw *record)
{
	const struct stack_part *part = (const void *)record->data;

	if (!perf_record_raw_has(record, 0, sizeof(*part)) ||
	    !perf_record_raw_has(record, sizeof(*part), part->size))
		return 0;
	if (parts->cut || parts->tid != record->tid || parts->sp != part->sp ||
	    parts->end != part->address)
		begin(parts, ring, record, part);
	parts->cut = part->cut;
	return part->size ? add(parts, part) : 0;
}

bool stack_parts_are_of(const struct stack_parts *parts, uint32_t tid, uint64_t sp,
			size_t stack_size)
{
	return parts->tid == tid && parts->sp == sp && parts->cut &&
	       (!parts->n || parts->list[0]->address - sp <= stack_size);
}

int stack_parts_put(const struct stack_parts *parts, struct stage *stage)
{
	int r = 0;

	for (size_t i = 0; i < parts->n && r == 0; i++) {
		const struct stack_part *part = parts->list[i];
		const struct wire_stack_part out = {
			.tid = parts->tid,
			.address = part->address,
			.bytes = { part + 1, part->size },
		};

		r = stage_put(stage, WIRE_RECORD_stack_part, &out);
	}
	return r;
}
