/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last walk of each thread by unwind tables: its frames, and the words of the stack that led
 * from each one to its caller. Where a later walk comes to one of these frames and finds these
 * words at their places, all further frames are the same, too: they follow from the frame, the
 * words and the process's mappings and tables alone. Only walks to an outermost frame are kept, of
 * which each step was proved by a table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/wire.h"

enum {
	LAST_WALKS_THREADS = 64, /* a power of two; more threads share slots */
	LAST_WALK_FRAMES_MAX = 1024,
	LAST_WALK_WORDS_MAX = 2560,
};

/* A frame as a walk has met it. */
struct walk_place {
	uint64_t sp, fp;
	uint32_t words_at; /* the first of the words that lead to its caller */
	bool is_plain;	   /* its pc is a return address, and its frame pointer is known: that is
			      all that a walk knows of it */
};

/* What a thread's walk was made with: another one's frames are others. */
struct walk_basis {
	uint64_t version; /* of the process's mappings; 0: nothing is kept */
	uint64_t tables;  /* how many tables have been removed */
	uint32_t tid;
};

struct last_walk {
	struct walk_basis basis;
	uint64_t time; /* of its sample: nothing is known of older ones */
	uint64_t last_fp;
	uint32_t first; /* frame */
	/* The outermost frame is the last of these, and its words are the last ones. */
	struct wire_frame frames[LAST_WALK_FRAMES_MAX];
	struct walk_place places[LAST_WALK_FRAMES_MAX];
	struct wire_stack_word words[LAST_WALK_WORDS_MAX];
};

/* What the walk that is being made has passed. */
struct passed_walk {
	uint32_t n, n_words; /* frames, and their words */
	bool is_other;	     /* it cannot be kept */
	struct walk_place places[LAST_WALK_FRAMES_MAX];
	struct wire_stack_word words[LAST_WALK_WORDS_MAX];
};

static inline void passed_walk_begin(struct passed_walk *passed)
{
	passed->n = passed->n_words = 0;
	passed->is_other = false;
}

static inline void passed_walk_add_place(struct passed_walk *passed, uint64_t sp, uint64_t fp,
					 bool is_plain)
{
	if (passed->n == LAST_WALK_FRAMES_MAX)
		passed->is_other = true;
	else
		passed->places[passed->n++] =
			(struct walk_place){ sp, fp, passed->n_words, is_plain };
}

static inline void passed_walk_add_word(struct passed_walk *passed, uint64_t address,
					uint64_t value)
{
	if (passed->n_words == LAST_WALK_WORDS_MAX)
		passed->is_other = true;
	else
		passed->words[passed->n_words++] = (struct wire_stack_word){ address, value };
}

/* The last walk of a thread with this basis; NULL: there is none. `walks` are all of them. */
static inline struct last_walk *last_walk_find(struct last_walk walks[LAST_WALKS_THREADS],
					       const struct walk_basis *basis, uint64_t time)
{
	struct last_walk *last = &walks[basis->tid & (LAST_WALKS_THREADS - 1)];

	return basis->version && last->basis.version == basis->version &&
			       last->basis.tables == basis->tables &&
			       last->basis.tid == basis->tid && last->time <= time
		       ? last
		       : NULL;
}

/*
 * Whether a walk has come to a frame of the last one; `at` goes on to the first of those that it
 * may still come to.
 */
static inline bool last_walk_has(const struct last_walk *last, uint32_t *at, uint64_t pc,
				 uint64_t sp, uint64_t fp)
{
	const struct walk_place *place;

	while (*at < LAST_WALK_FRAMES_MAX && last->places[*at].sp < sp)
		++*at;
	if (*at == LAST_WALK_FRAMES_MAX)
		return false;
	place = &last->places[*at];
	return place->sp == sp && place->fp == fp && place->is_plain &&
	       last->frames[*at].address == pc;
}

/* The frame that a word led from. */
uint32_t last_walk_frame_of(const struct last_walk *last, uint32_t word);

/*
 * Keeps a walk that has ended, which has the frames of the last one from `from` on behind its own,
 * whose first `passed->n` are `frames`. Without room the innermost ones are left out.
 */
void last_walk_keep(struct last_walk *last, const struct passed_walk *passed,
		    const struct wire_frame *frames, uint32_t from);
