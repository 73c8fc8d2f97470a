/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A walk of the table engine: the frame that it has reached, and the step to its caller. */
#pragma once

#include "live-unwinder/engine-table.h"
#include "live-unwinder/jit-frames.h"
#include "live-unwinder/rule-cache.h"
#include "live-unwinder/stack-reads.h"
#include "live-unwinder/v8/v8-builtins.h"
#include "live-unwinder/walk/last-walk.h"

struct engine_table {
	struct rule_cache cache;
	struct stack_reads reads[STACK_READS_THREADS];
	struct table_store *tables;
	struct jit_frames jit;
	struct v8_builtins builtins;
	struct passed_walk passed;
	struct last_walk last[LAST_WALKS_THREADS];
};

/* The frame that the walk has reached. */
struct table_walk {
	struct engine_table *engine;
	struct unwinding *unwinding;
	struct stack_reads *reads;
	uint64_t stack_start;
	uint64_t pc, sp, fp;
	bool knows_fp;
	enum wire_stack_end without_fp; /* end reason if `fp` is needed but not known */
	bool is_sampled;		/* the innermost frame: all of its registers are known */
	/* Address of the registers that a signal frame saved for this frame; 0: none. */
	uint64_t interrupted_at;
	bool is_exact; /* the pc is of an instruction that ran, not a return address */
	const struct mapping *mapping;	  /* holds the pc */
	const struct stored_table *entry; /* of the mapping's image */
	struct stack_words_passed words;  /* of unwinding->words */
	const struct last_walk *last;	  /* of the thread; NULL: there is none */
	uint32_t met;			  /* the first of its frames that may still be met, */
	bool goes_on;			  /* or that was met, and all others with it */
	enum wire_stack_end end;	  /* 0: not ended */
	enum engine_table_outcome outcome;
};

/* Reads a word; false: it was not captured. */
static inline bool table_walk_find_word(struct table_walk *walk, uint64_t address, uint64_t *ret)
{
	if (walk->unwinding->words.n)
		return stack_words_read(&walk->words, address, ret);
	return stack_read_word(&walk->unwinding->sample->stack, walk->stack_start, address, ret);
}

static inline bool table_walk_end(struct table_walk *walk, enum wire_stack_end reason)
{
	walk->end = reason;
	return false;
}

/* The last frame was left by a step that elfutils cannot confirm. */
static inline void table_walk_note_unconfirmable(struct table_walk *walk)
{
	struct unwinding *unwinding = walk->unwinding;

	if (!unwinding->n_verifiable)
		unwinding->n_verifiable = unwinding->n_frames;
}

/* The last frame was left by a step that elfutils may contradict. */
static inline void table_walk_overrule(struct table_walk *walk)
{
	table_walk_note_unconfirmable(walk);
	walk->unwinding->contradicts_cfi = true;
}

/*
 * Leaves a sample to elfutils, which is not asked where it would contradict this engine, not come
 * so far, or has no stack. Returns false.
 */
bool table_walk_give_up(struct table_walk *walk, enum engine_table_outcome outcome);

/* Steps to the caller; false: the stack ends here. */
bool table_walk_step(struct table_walk *walk, const struct unwind_rule *rule);
