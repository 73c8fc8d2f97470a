/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input is the bytes of a heap_events record. */
#include <stdlib.h>
#include <string.h>

#include "heap/heap.h"
#include "tests/fuzz/fuzz.h"

enum { STACKS_REACHED = 1 << 16 }; /* larger numbers only use memory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct heap heap;
	static uint8_t bytes[HEAP_EVENTS_SIZE_MAX + WIRE_BLOB_PADDING];
	const struct wire_heap_begin begin = { .process = 1, .time = 1 };
	struct wire_heap_events record = { .time = 1, .process = 1, .n = 1 };
	struct heap_event_reader reader;
	struct heap_event event;

	if (size > HEAP_EVENTS_SIZE_MAX)
		return 0;
	memcpy(bytes, data, size);
	memset(bytes + size, 0, WIRE_BLOB_PADDING);
	record.events = (struct wire_blob){ bytes, size };
	reader = heap_event_reader(&record);
	while (heap_event_next(&reader, &event))
		if (event.kind == HEAP_EVENT_ALLOCATED && event.stack > STACKS_REACHED)
			return 0;
	memset(&heap, 0, sizeof(heap));
	fuzz_check(heap_init(&heap) == 0 && heap_begin(&heap, &begin) == 0);
	heap_add_events(&heap, &record);
	heap_finish(&heap, 2);
	/* Everything has been freed or has ended. */
	fuzz_check(!heap.totals.live.n && !heap.totals.live.bytes && !heap.blocks[1].n);
	heap_deinit(&heap);
	return 0;
}
