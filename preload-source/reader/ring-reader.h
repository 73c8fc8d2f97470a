/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads records from a ring that a hostile program may write to at any time: each word is read
 * once, and an invalid record breaks the ring for good.
 */
#pragma once

#include <stdbool.h>

#include "preload-source/shared/heap-ring.h"

struct ring_reader {
	struct heap_ring *ring;
	uint64_t position, end; /* in words: the next record; the head at the last look */
	bool is_broken;
};

/* A parsed record. Which fields are valid depends on its kind. */
struct ring_record {
	enum heap_record kind;
	uint64_t time; /* invalid in STACK */
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
	RING_E_BROKEN, /* invalid data: the ring is read no further */
};

/* Reads the writer's head. */
enum ring_outcome ring_reader_look(struct ring_reader *reader);

/* Whether a third of the ring is full: its writer waits, or soon will. */
bool ring_reader_is_due(const struct ring_reader *reader);

/* Reads the next record and moves past it. Its words are copied to `room`. */
enum ring_outcome ring_reader_next(struct ring_reader *reader, struct ring_record *ret,
				   uint64_t room[RING_RECORD_WORDS_MAX]);

/* The kind of the next record, which stays unread; SKIP: there is none. */
enum heap_record ring_reader_peek(const struct ring_reader *reader);

/* Breaks the ring, after an impossible record: it is read no further. */
void ring_reader_give_up(struct ring_reader *reader);

/* Frees the space of all records that were read, and wakes a writer that waits for space. */
void ring_reader_release(const struct ring_reader *reader);
