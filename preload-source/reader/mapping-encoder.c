/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "preload-source/reader/mapping-encoder.h"

/* Rounds to whole pages. A hostile program's size may exceed all addresses, so it is masked. */
static struct mapped_range range_of(const struct heap_event *event)
{
	uint64_t page = sysconf(_SC_PAGESIZE), size = event->size & HEAP_ADDRESS_MASK;
	uint64_t start = event->address & ~(page - 1);

	return (struct mapped_range){ start, start + ((size + page - 1) & ~(page - 1)),
				      event->stack };
}

static int emit(const struct mapping_encoder *self, enum heap_event_kind kind,
		struct mapped_range range, const struct heap_event *when)
{
	struct heap_event event = *when;

	event.kind = kind;
	event.address = range.start;
	event.size = range.end - range.start;
	event.stack = range.stack;
	return heap_encoder_event(self->encoder, self->process, &event);
}

/* Adds a range and emits it; ignores an empty one. */
static int map(const struct mapping_encoder *self, enum heap_event_kind kind,
	       struct mapped_range range, const struct heap_event *when)
{
	int r = range.start < range.end ? mapped_ranges_add(self->mapped, range) : 1;

	if (r == 0)
		r = emit(self, kind, range, when);
	return r > 0 ? 0 : r;
}

static struct mapped_range overlap(struct mapped_range range, struct mapped_range with)
{
	if (range.start < with.start)
		range.start = with.start;
	if (range.end > with.end)
		range.end = with.end;
	return range;
}

/* Emits each mapping with pages in a range as unmapped, then what remains of it. */
static int unmap(const struct mapping_encoder *self, struct mapped_range gone,
		 const struct heap_event *when)
{
	struct mapped_range range;
	int r = 0;

	self->unmapped->n = 0;
	while (r == 0 && mapped_ranges_take(self->mapped, gone.start, gone.end, &range)) {
		const struct mapped_range before = { range.start, gone.start, range.stack };
		const struct mapped_range behind = { gone.end, range.end, range.stack };

		r = emit(self, HEAP_EVENT_UNMAPPED, range, when);
		if (r == 0)
			r = map(self, HEAP_EVENT_REMAINED, before, when);
		if (r == 0)
			r = map(self, HEAP_EVENT_REMAINED, behind, when);
		if (r == 0)
			r = mapped_ranges_add(self->unmapped, overlap(range, gone));
	}
	return r;
}

/* The thread's last unmapping failed: its ranges remain. */
static int keep(const struct mapping_encoder *self, const struct heap_event *when)
{
	int r = 0;

	for (size_t i = 0; i < self->unmapped->n && r == 0; i++)
		r = map(self, HEAP_EVENT_REMAINED, self->unmapped->list[i], when);
	self->unmapped->n = 0;
	return r;
}

int mapping_encoder_take(const struct mapping_encoder *self, enum heap_record kind,
			 const struct heap_event *event)
{
	struct mapped_range range = range_of(event);
	int r;

	if (kind == HEAP_RECORD_KEPT)
		return keep(self, event);
	r = unmap(self, range, event);
	return r == 0 && kind == HEAP_RECORD_MAPPED ? map(self, HEAP_EVENT_MAPPED, range, event)
						    : r;
}
