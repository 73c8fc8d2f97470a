/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The input is a ring: the writer's claimed head, its position, and its words. */
#include <stdlib.h>
#include <string.h>

#include "preload-source/reader/ring-reader.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t room[RING_RECORD_WORDS_MAX];
	static struct heap_ring *ring;
	struct ring_reader reader = { 0 };
	struct ring_record record;
	uint64_t emitted[2];

	if (size < sizeof(emitted))
		return 0;
	if (!ring)
		ring = calloc(1, heap_ring_size());
	memcpy(emitted, data, sizeof(emitted));
	data += sizeof(emitted);
	size -= sizeof(emitted);
	if (size > HEAP_RING_WORDS * sizeof(uint64_t))
		size = HEAP_RING_WORDS * sizeof(uint64_t);
	/* Lets the records wrap around the end of the ring. */
	reader.ring = ring;
	reader.position = reader.end = emitted[1] % (2 * HEAP_RING_WORDS);
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		memcpy(&ring->words[(reader.position + i) % HEAP_RING_WORDS],
		       data + i * sizeof(uint64_t), sizeof(uint64_t));
	ring->head = emitted[0] & 1 ? emitted[0] : reader.position + size / sizeof(uint64_t);
	if (ring_reader_look(&reader) == RING_OK)
		while (ring_reader_next(&reader, &record, room) == RING_OK) {
			fuzz_check(record.n <= RING_RECORD_WORDS_MAX);
			fuzz_check(reader.position <= reader.end);
			ring_reader_peek(&reader);
		}
	ring_reader_release(&reader);
	return 0;
}
