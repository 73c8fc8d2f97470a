/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a heap_events record: words of 64 bits, the kind in the upper 4. Time is told as
 * what has passed since the event before, in nanoseconds.
 *
 *   ALLOCATED  time:12 address:48, and a word size:32 stack:32
 *   FREED      time:12 address:48; RELEASED, RESTORED likewise
 *   TIME       time:60, that passes before the next event
 *   THREAD     tid:32, of the events that follow, up to the end of the record
 *   SIZE       the upper 32 bits of the next size
 *   INTERVAL   bytes:60, the mean between samples of the allocations that follow, likewise; 0, as
 * at the beginning of a record: all are told
 *
 * Each record begins with THREAD, and so stands by itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"

enum heap_event_kind {
	HEAP_EVENT_ALLOCATED = 1,
	HEAP_EVENT_FREED,
	HEAP_EVENT_RELEASED, /* freed by realloc(3), unless it is RESTORED by the same thread */
	HEAP_EVENT_RESTORED,
	HEAP_EVENT_TIME,
	HEAP_EVENT_THREAD,
	HEAP_EVENT_SIZE,
	HEAP_EVENT_INTERVAL,
};

enum {
	HEAP_EVENTS_WORDS_MAX = 65536 / 8, /* of a record */
	HEAP_EVENT_WORDS_MAX = 6,	   /* an allocation with all that may be in front of it */
};

struct heap_event {
	enum heap_event_kind kind; /* one of the first four */
	uint32_t tid, stack;	   /* stack: of ALLOCATED */
	uint64_t time, address, size;
	uint64_t interval; /* of ALLOCATED: it stands for 1 / (1 - exp(-size / interval)); 0: itself
			    */
};

/* Puts events into a record's words. All zero but `time` is an empty one. */
struct heap_event_writer {
	uint64_t words[HEAP_EVENTS_WORDS_MAX];
	size_t n_words;
	uint64_t n;	/* events */
	uint64_t begin; /* the record's time */
	uint64_t time, interval;
	uint32_t tid;
};

static inline bool heap_event_writer_is_full(const struct heap_event_writer *writer)
{
	return writer->n_words + HEAP_EVENT_WORDS_MAX > HEAP_EVENTS_WORDS_MAX;
}

static inline uint64_t heap_event_word(enum heap_event_kind kind, uint64_t rest)
{
	return (uint64_t)kind << 60 | rest;
}

/* There is room for it, and its time is not before that of the one before. */
static inline void heap_event_write(struct heap_event_writer *writer,
				    const struct heap_event *event)
{
	uint64_t *words = writer->words, passed;

	if (!writer->n_words) {
		writer->begin = writer->time = event->time;
		writer->interval = 0;
	}
	if (!writer->n_words || writer->tid != event->tid)
		words[writer->n_words++] = heap_event_word(HEAP_EVENT_THREAD, event->tid);
	writer->tid = event->tid;
	passed = event->time - writer->time;
	if (passed >> 12) {
		words[writer->n_words++] = heap_event_word(HEAP_EVENT_TIME, passed & (~0ULL >> 4));
		passed = 0;
	}
	if (event->kind == HEAP_EVENT_ALLOCATED && event->interval != writer->interval)
		words[writer->n_words++] =
			heap_event_word(HEAP_EVENT_INTERVAL, writer->interval = event->interval);
	if (event->kind == HEAP_EVENT_ALLOCATED && event->size >> 32)
		words[writer->n_words++] = heap_event_word(HEAP_EVENT_SIZE, event->size >> 32);
	words[writer->n_words++] = heap_event_word(event->kind, passed << 48 | event->address);
	if (event->kind == HEAP_EVENT_ALLOCATED)
		words[writer->n_words++] = event->size << 32 | event->stack;
	writer->time = event->time;
	writer->n++;
}

struct heap_event_reader {
	const uint64_t *word, *end;
	uint64_t time, interval;
	uint32_t tid;
	bool is_damaged;
};

static inline struct heap_event_reader heap_event_reader(const struct wire_heap_events *record)
{
	const uint64_t *words = record->events.data;

	return (struct heap_event_reader){
		.word = words,
		.end = words + record->events.size / sizeof(*words),
		.time = record->time,
	};
}

/* The next event; false: there is none, and the rest, if there is one, is damaged. */
static inline bool heap_event_next(struct heap_event_reader *reader, struct heap_event *ret)
{
	uint64_t size_high = 0;

	while (reader->word < reader->end) {
		uint64_t word = *reader->word++, rest = word & (~0ULL >> 4);

		switch (word >> 60) {
		case HEAP_EVENT_TIME:
			reader->time += rest;
			continue;
		case HEAP_EVENT_THREAD:
			reader->tid = rest;
			continue;
		case HEAP_EVENT_SIZE:
			size_high = rest << 32;
			continue;
		case HEAP_EVENT_INTERVAL:
			reader->interval = rest;
			continue;
		case HEAP_EVENT_ALLOCATED:
		case HEAP_EVENT_FREED:
		case HEAP_EVENT_RELEASED:
		case HEAP_EVENT_RESTORED:
			break;
		default:
			reader->is_damaged = true;
			return false;
		}
		reader->time += rest >> 48;
		*ret = (struct heap_event){
			.kind = word >> 60,
			.tid = reader->tid,
			.time = reader->time,
			.address = rest & (~0ULL >> 16),
		};
		if (ret->kind != HEAP_EVENT_ALLOCATED)
			return true;
		if (reader->word == reader->end) {
			reader->is_damaged = true;
			return false;
		}
		ret->size = size_high | *reader->word >> 32;
		ret->stack = *reader->word++;
		ret->interval = reader->interval;
		return true;
	}
	reader->is_damaged = size_high;
	return false;
}
