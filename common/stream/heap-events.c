/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/stream/heap-events.h"
#include "common/stage/stage.h"

int heap_events_send(struct heap_event_writer *writer, struct stage *stage, uint64_t process)
{
	const struct wire_heap_events record = {
		.time = writer->begin,
		.process = process,
		.n = writer->n,
		.events = { writer->bytes, writer->size },
	};
	int r;

	if (!writer->size)
		return 0;
	stage_sum(stage, &stage->samples_in, writer->n);
	r = stage_put(stage, WIRE_RECORD_heap_events, &record);
	writer->size = writer->n = 0;
	return r < 0 ? r : wire_writer_flush(&stage->writer); /* the bytes are borrowed */
}
