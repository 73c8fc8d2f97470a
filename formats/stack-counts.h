/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts each distinct stack: a list of names (names.h), the outermost first. Runs for each sample,
 * so it uses open addressing, and keeps the lists side by side in large blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wire.h"

enum {
	STACK_COUNT_INLINED_MAX = 1 << 14, /* inlined calls in all frames of one stack */
	/* Names of a stack: thread, end reason, frames and inlined calls. */
	STACK_COUNT_NAMES_MAX = 2 + WIRE_FRAMES_MAX + STACK_COUNT_INLINED_MAX,
	STACK_COUNTS_MAX = 1 << 20,	  /* stacks; beyond, the rarest are dropped */
	STACK_COUNTS_NAMES_MAX = 1 << 25, /* of all stacks; likewise */
};

struct stack_count {
	uint64_t n_samples;
	size_t n_names;
	const uint32_t *names;
};

struct stack_counts {
	struct stack_count *list;
	size_t n, n_names; /* n_names: of all stacks */
	struct stack_slot *slots;
	size_t n_slots; /* a power of two, at least twice n; or 0 */
	struct stack_block *newest;
	uint32_t crowd;	    /* name of the stack for a thread's dropped stacks; 0: none */
	uint64_t n_crowded; /* samples of dropped stacks, at least */
	uint64_t n_other;   /* samples dropped without such a stack */
	bool is_packed;	    /* dropping stacks would no longer make room */
};

void stack_counts_deinit(struct stack_counts *counts);

/* Counts `n_samples` more of a stack. 0 or -ENOMEM */
int stack_counts_add_many(struct stack_counts *counts, const uint32_t *names, size_t n_names,
			  uint64_t n_samples);

/*
 * Drops the rarest stacks, at least half of all; their samples go to the thread's `crowd` stack, or
 * to `n_other` without one. (Without memory for that, all stay.)
 */
void stack_counts_forget_rare(struct stack_counts *counts);

/* Renames all names, and merges equal stacks. 0, or -ENOMEM with nothing changed. */
int stack_counts_rename(struct stack_counts *counts, uint32_t (*rename)(uint32_t name, void *arg),
			void *arg);

/* All stacks, sorted by `compare` (qsort_r); the caller frees the list. 0 or -ENOMEM. */
int stack_counts_list(const struct stack_counts *counts,
		      int (*compare)(const void *a, const void *b, void *arg), void *arg,
		      struct stack_count **ret, size_t *ret_n);
