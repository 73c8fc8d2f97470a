/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload-source/reader/ring-reader.h"

enum { MASK = HEAP_RING_WORDS - 1 };

/* Reads a word of the ring exactly once. */
static uint64_t word_at(const struct ring_reader *reader, uint64_t position)
{
	return __atomic_load_n(&reader->ring->words[position & MASK], __ATOMIC_RELAXED);
}

void ring_reader_give_up(struct ring_reader *reader)
{
	reader->is_broken = true;
}

static enum ring_outcome break_off(struct ring_reader *reader)
{
	ring_reader_give_up(reader);
	return RING_E_BROKEN;
}

enum ring_outcome ring_reader_look(struct ring_reader *reader)
{
	uint64_t head = __atomic_load_n(&reader->ring->head, __ATOMIC_ACQUIRE);

	if (reader->is_broken)
		return RING_E_BROKEN;
	/* The head only grows, and not beyond the free space. */
	if (head - reader->position > HEAP_RING_WORDS || head < reader->end)
		return break_off(reader);
	reader->end = head;
	return reader->position < head ? RING_OK : RING_E_EMPTY;
}

bool ring_reader_is_due(const struct ring_reader *reader)
{
	uint64_t head = __atomic_load_n(&reader->ring->head, __ATOMIC_SEQ_CST);

	return !reader->is_broken && head - reader->position >= HEAP_RING_DUE;
}

/* Words of a record besides those that it counts itself; 0: unknown kind. */
static uint32_t fixed_words(enum heap_record kind)
{
	switch (kind) {
	case HEAP_RECORD_ALLOCATED:
	case HEAP_RECORD_MAPPED:
		return HEAP_ALLOCATED_WORDS;
	case HEAP_RECORD_FREED:
	case HEAP_RECORD_RELEASED:
	case HEAP_RECORD_RESTORED:
		return HEAP_FREED_WORDS;
	case HEAP_RECORD_UNMAPPED:
	case HEAP_RECORD_KEPT:
		return HEAP_UNMAPPED_WORDS;
	case HEAP_RECORD_STACK:
		return HEAP_STACK_WORDS;
	case HEAP_RECORD_RAW:
		return HEAP_RAW_WORDS;
	case HEAP_RECORD_THREAD:
		return HEAP_THREAD_WORDS;
	case HEAP_RECORD_LOST:
		return HEAP_LOST_WORDS;
	case HEAP_RECORD_SAMPLING:
		return HEAP_SAMPLING_WORDS;
	default:
		return 0;
	}
}

static void copy_words(const struct ring_reader *reader, uint64_t from, uint64_t *ret, uint32_t n)
{
	memcpy(ret, &reader->ring->words[from & MASK], n * sizeof(*ret));
}

/* Parses the first word of a stack; false: a count or slot is out of range. */
static bool parse_stack(struct ring_record *record, uint64_t first)
{
	record->n = first & 0xffff;
	record->slot = first >> 16 & 0xffffff;
	record->stack_end = first >> 40 & 0xff;
	record->generation = first >> 48 & HEAP_GENERATION_MASK;
	return record->n >= 1 && record->n <= HEAP_FRAMES_MAX && record->slot < HEAP_SLOTS;
}

static bool parse_raw(const struct ring_reader *reader, struct ring_record *record)
{
	uint64_t word = word_at(reader, reader->position + 1), size = word & UINT32_MAX;

	record->n = size / sizeof(uint64_t);
	record->generation = word >> 32 & HEAP_GENERATION_MASK;
	record->caller = word_at(reader, reader->position + 2);
	for (uint32_t i = 0; i < HEAP_RAW_REGISTERS; i++)
		record->registers[i] = word_at(reader, reader->position + 3 + i);
	return size <= HEAP_RAW_BYTES_MAX;
}

static bool parse_fixed(const struct ring_reader *reader, uint64_t first,
			struct ring_record *record)
{
	uint64_t at = reader->position, second;

	record->n = 0;
	record->time = first & HEAP_TIME_MASK;
	if (record->kind == HEAP_RECORD_STACK)
		return parse_stack(record, first);
	if (record->kind == HEAP_RECORD_RAW)
		return parse_raw(reader, record);
	second = word_at(reader, at + 1);
	record->address = second & HEAP_ADDRESS_MASK;
	switch (record->kind) {
	case HEAP_RECORD_ALLOCATED:
	case HEAP_RECORD_MAPPED:
		record->slot = second >> HEAP_ADDRESS_BITS;
		record->size = word_at(reader, at + 2);
		return record->slot <= HEAP_SLOT_RAW && record->size <= HEAP_SIZE_MAX;
	case HEAP_RECORD_UNMAPPED:
	case HEAP_RECORD_KEPT:
		record->size = word_at(reader, at + 2);
		return true;
	case HEAP_RECORD_THREAD:
		record->tid = second;
		return true;
	case HEAP_RECORD_LOST:
		record->lost =
			(struct heap_lost){ second, word_at(reader, at + 2),
					    word_at(reader, at + 3), word_at(reader, at + 4) };
		return heap_lost_is_possible(&record->lost);
	case HEAP_RECORD_SAMPLING:
		record->sampling = second;
		return true;
	default:
		return true;
	}
}

enum ring_outcome ring_reader_next(struct ring_reader *reader, struct ring_record *ret,
				   uint64_t room[RING_RECORD_WORDS_MAX])
{
	uint64_t left, first;
	uint32_t fixed, until_end;

	if (reader->is_broken)
		return RING_E_BROKEN;
	for (;;) {
		left = reader->end - reader->position;
		if (!left)
			return RING_E_EMPTY;
		until_end = HEAP_RING_WORDS - (reader->position & MASK);
		first = word_at(reader, reader->position);
		ret->kind = first >> HEAP_KIND_SHIFT;
		if (ret->kind != HEAP_RECORD_SKIP)
			break;
		if (until_end > left)
			return break_off(reader);
		reader->position += until_end;
	}
	fixed = fixed_words(ret->kind);
	if (left > until_end)
		left = until_end; /* no record crosses the end */
	if (!fixed || fixed > left || !parse_fixed(reader, first, ret) || ret->n > left - fixed)
		return break_off(reader);
	copy_words(reader, reader->position + fixed, room, ret->n);
	ret->words = room;
	reader->position += fixed + ret->n;
	return RING_OK;
}

enum heap_record ring_reader_peek(const struct ring_reader *reader)
{
	if (reader->is_broken || reader->position == reader->end)
		return HEAP_RECORD_SKIP;
	return word_at(reader, reader->position) >> HEAP_KIND_SHIFT;
}

void ring_reader_release(const struct ring_reader *reader)
{
	struct heap_ring *ring = reader->ring;

	__atomic_store_n(&ring->tail, reader->position, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&ring->is_waiting, __ATOMIC_SEQ_CST))
		return;
	__atomic_fetch_add(&ring->n_waits, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &ring->n_waits, FUTEX_WAKE, 1, NULL, NULL, 0);
}
