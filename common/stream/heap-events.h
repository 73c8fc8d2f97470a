/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a heap_events record: a control word of 16 bits with the lengths of the fields that
 * follow it, little-endian, without padding:
 *
 *   kind:4 time:3 address:3 size:3 stack:3
 *
 *   time     nanoseconds since the previous event
 *   address  difference to the previous event's address, its sign in bit 0 (zigzag)
 *   size     of ALLOCATED and of mappings; of INTERVAL the mean bytes between samples of the
 *            ALLOCATED that follow; 0, also at the beginning of a record: every one is recorded
 *   stack    of ALLOCATED and of mappings, its number; of THREAD the TID of the events that follow
 *
 * Each record begins with THREAD, so it can be decoded alone. Two threads often alternate: 8 added
 * to the kind switches back to the previous thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/wire.h"

enum heap_event_kind {
	HEAP_EVENT_ALLOCATED = 1,
	HEAP_EVENT_FREED,
	HEAP_EVENT_RELEASED, /* freed by realloc(3), unless the same thread RESTORES it */
	HEAP_EVENT_RESTORED,
	HEAP_EVENT_THREAD,
	HEAP_EVENT_INTERVAL,
	HEAP_EVENT_MAPPED,	/* by mmap(2) or mremap(2) */
	HEAP_EVENT_SWAPPED = 8, /* added to one of the first four */
	HEAP_EVENT_UNMAPPED = 13,
	HEAP_EVENT_REMAINED, /* at the same time: a part, or all, of UNMAPPED is still mapped */
};

enum {
	HEAP_EVENTS_SIZE_MAX = 65536, /* bytes of a record */
	HEAP_EVENT_SIZE_MAX = 64,     /* bytes of an event, THREAD, INTERVAL and overwrite */
	HEAP_EVENT_FIELD_MAX = 7,     /* bytes of a field */
};

/* Whether events of this kind have a size and a stack. */
static inline bool heap_event_has_size(enum heap_event_kind kind)
{
	return kind == HEAP_EVENT_ALLOCATED || kind == HEAP_EVENT_MAPPED ||
	       kind >= HEAP_EVENT_UNMAPPED;
}

struct heap_event {
	enum heap_event_kind kind; /* never THREAD, INTERVAL or SWAPPED */
	uint32_t tid, stack;	   /* stack: of ALLOCATED and mappings */
	uint64_t time, address, size;
	uint64_t interval; /* ALLOCATED stands for 1 / (1 - exp(-size / interval)); 0: for 1 */
};

/* Encodes events into the bytes of a record. An all-zero writer is empty. */
struct heap_event_writer {
	uint8_t bytes[HEAP_EVENTS_SIZE_MAX];
	size_t size;
	uint64_t n;	/* events */
	uint64_t begin; /* the record's time */
	uint64_t time, address, interval;
	uint32_t tid, other_tid;
};

static inline bool heap_event_writer_is_full(const struct heap_event_writer *writer)
{
	return writer->size + HEAP_EVENT_SIZE_MAX > HEAP_EVENTS_SIZE_MAX;
}

/* The number of bytes of a value without leading zero bytes. */
static inline unsigned heap_event_length(uint64_t value)
{
	return (71U - __builtin_clzll(value | 1)) / 8 - !value;
}

/* Writes 8 bytes; the next field overwrites those beyond `length`. Returns its position. */
static inline uint8_t *heap_event_put(uint8_t *at, uint64_t value, unsigned length)
{
	memcpy(at, &value, sizeof(value));
	return at + length;
}

static inline uint8_t *heap_event_put_all(uint8_t *at, enum heap_event_kind kind, uint64_t time,
					  uint64_t address, uint64_t size, uint32_t stack)
{
	unsigned l_time = heap_event_length(time), l_address = heap_event_length(address),
		 l_size = heap_event_length(size), l_stack = heap_event_length(stack);

	at = heap_event_put(at, kind | l_time << 4 | l_address << 7 | l_size << 10 | l_stack << 13,
			    2);
	at = heap_event_put(at, time, l_time);
	at = heap_event_put(at, address, l_address);
	at = heap_event_put(at, size, l_size);
	return heap_event_put(at, stack, l_stack);
}

/* Clamps a value that does not fit into a field: no address, size or time is that large. */
static inline uint64_t heap_event_fitting(uint64_t value)
{
	return value >> 8 * HEAP_EVENT_FIELD_MAX ? ~0ULL >> 8 : value;
}

/* The caller ensures room, times in ascending order, and an address of 48 bits. */
static inline void heap_event_write(struct heap_event_writer *writer,
				    const struct heap_event *event)
{
	bool is_swapped = false, has_size = heap_event_has_size(event->kind);
	uint8_t *at = writer->bytes + writer->size;
	int64_t moved;

	if (!writer->size) {
		writer->begin = writer->time = event->time;
		writer->address = writer->interval = 0;
		writer->tid = writer->other_tid = 0;
	}
	if (writer->tid != event->tid) {
		is_swapped = writer->other_tid == event->tid && event->tid &&
			     event->kind <= HEAP_EVENT_RESTORED;
		if (!is_swapped)
			at = heap_event_put_all(at, HEAP_EVENT_THREAD, 0, 0, 0, event->tid);
		writer->other_tid = writer->tid;
		writer->tid = event->tid;
	} else if (!writer->size) {
		at = heap_event_put_all(at, HEAP_EVENT_THREAD, 0, 0, 0, 0);
	}
	if (event->kind == HEAP_EVENT_ALLOCATED && event->interval != writer->interval)
		at = heap_event_put_all(at, HEAP_EVENT_INTERVAL, 0, 0,
					heap_event_fitting(event->interval), 0);
	moved = event->address - writer->address;
	at = heap_event_put_all(
		at, event->kind | (is_swapped ? HEAP_EVENT_SWAPPED : 0),
		heap_event_fitting(event->time - writer->time), (uint64_t)moved << 1 ^ moved >> 63,
		has_size ? heap_event_fitting(event->size) : 0, has_size ? event->stack : 0);
	writer->size = at - writer->bytes;
	if (event->kind == HEAP_EVENT_ALLOCATED)
		writer->interval = event->interval;
	writer->time = event->time;
	writer->address = event->address;
	writer->n++;
}

struct stage;

/* Emits the events written so far as a record, if any, and empties the writer. 0 or -errno. */
int heap_events_send(struct heap_event_writer *writer, struct stage *stage, uint64_t process);

struct heap_event_reader {
	const uint8_t *at, *end;
	uint64_t time, address, interval;
	uint32_t tid, other_tid;
	bool is_damaged;
};

static inline struct heap_event_reader heap_event_reader(const struct wire_heap_events *record)
{
	const uint8_t *bytes = record->events.data;

	return (struct heap_event_reader){
		.at = bytes,
		.end = bytes + record->events.size,
		.time = record->time,
	};
}

/* May read beyond the last field, into the zero bytes behind a blob (WIRE_BLOB_PADDING). */
static inline uint64_t heap_event_take(struct heap_event_reader *reader, unsigned length)
{
	uint64_t value;

	memcpy(&value, reader->at, sizeof(value));
	reader->at += length;
	return value & ((1ULL << 8 * length) - 1);
}

/* Decodes the next event; false: the end, or the rest is damaged (is_damaged). */
static inline bool heap_event_next(struct heap_event_reader *reader, struct heap_event *ret)
{
	while (reader->at < reader->end) {
		uint64_t control = heap_event_take(reader, 2), moved;
		unsigned l_time = control >> 4 & 7, l_address = control >> 7 & 7,
			 l_size = control >> 10 & 7, l_stack = control >> 13 & 7;

		if (reader->end - reader->at < (ptrdiff_t)(l_time + l_address + l_size + l_stack)) {
			reader->is_damaged = true;
			return false;
		}
		ret->kind = control & 0xf;
		if (ret->kind > HEAP_EVENT_SWAPPED && ret->kind < HEAP_EVENT_UNMAPPED) {
			uint32_t tid = reader->tid;

			reader->tid = reader->other_tid;
			reader->other_tid = tid;
			ret->kind -= HEAP_EVENT_SWAPPED;
		}
		reader->time += heap_event_take(reader, l_time);
		moved = heap_event_take(reader, l_address);
		reader->address += moved >> 1 ^ -(moved & 1);
		reader->address &= ~0ULL >> 16;
		ret->size = heap_event_take(reader, l_size);
		ret->stack = heap_event_take(reader, l_stack);
		ret->tid = reader->tid;
		ret->time = reader->time;
		ret->address = reader->address;
		ret->interval = reader->interval;
		switch (ret->kind) {
		case HEAP_EVENT_THREAD:
			reader->other_tid = reader->tid;
			reader->tid = ret->stack;
			continue;
		case HEAP_EVENT_INTERVAL:
			reader->interval = ret->size;
			continue;
		case HEAP_EVENT_ALLOCATED:
		case HEAP_EVENT_FREED:
		case HEAP_EVENT_RELEASED:
		case HEAP_EVENT_RESTORED:
		case HEAP_EVENT_MAPPED:
		case HEAP_EVENT_UNMAPPED:
		case HEAP_EVENT_REMAINED:
			return true;
		default:
			break;
		}
		reader->is_damaged = true;
		return false;
	}
	return false;
}
