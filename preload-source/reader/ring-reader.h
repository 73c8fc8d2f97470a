/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records out of a ring that a hostile program may write to at any time: each word is read once,
 * and what cannot be a record ends the ring for good.
 */
#pragma once

#include <stdbool.h>

#include "preload-source/shared/heap-ring.h"

struct ring_reader {
	struct heap_ring *ring;
	uint64_t position, end; /* in words: what is next, and how far was committed when looked */
	bool is_broken;
};

/* What a record said. Which fields count depends on its kind. */
struct ring_record {
	enum heap_record kind;
	uint64_t time; /* not of STACK */
	uint64_t address, size;
	uint32_t slot, tid, stack_end, generation;
	struct heap_lost lost;
	uint64_t sampling;
	uint64_t caller, registers[HEAP_RAW_REGISTERS];
	uint32_t n; /* of `words`: frames, or the raw stack */
	const uint64_t *words;
};

/* Room for the words of any record. */
enum { RING_RECORD_WORDS_MAX = HEAP_RAW_BYTES_MAX / sizeof(uint64_t) };

enum ring_outcome {
	RING_OK,
	RING_E_EMPTY,
	RING_E_BROKEN, /* it is no ring any more: nothing further is read from it */
};

/* Looks how far the writer is. */
enum ring_outcome ring_reader_look(struct ring_reader *reader);

/* Whether a third of it is full: its writer waits, or soon will. */
bool ring_reader_is_due(const struct ring_reader *reader);

/* The next record; the reader is behind it then. Its words are copied to `room`. */
enum ring_outcome ring_reader_next(struct ring_reader *reader, struct ring_record *ret,
				   uint64_t room[RING_RECORD_WORDS_MAX]);

/* What the next record is, which is still to be read; SKIP: nothing that is known. */
enum heap_record ring_reader_peek(const struct ring_reader *reader);

/* What a record said cannot be true: nothing further is read. */
void ring_reader_give_up(struct ring_reader *reader);

/* Everything that was read may be written over; wakes a writer that waits for that. */
void ring_reader_release(const struct ring_reader *reader);
