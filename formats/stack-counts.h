/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often each distinct stack was met; a stack is a list of names (names.h), outermost first.
 * There is one to count a sample: open addressing, the lists side by side in large blocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wire.h"

enum {
	STACK_COUNT_INLINED_MAX = 1
				  << 14, /* calls that were inlined into all of a stack's frames */
	/* Of one stack: its thread, why it ends, its frames, and what was inlined into them. */
	STACK_COUNT_NAMES_MAX = 2 + WIRE_FRAMES_MAX + STACK_COUNT_INLINED_MAX,
	STACK_COUNTS_MAX = 1 << 20,	  /* stacks: then the rarest make room */
	STACK_COUNTS_NAMES_MAX = 1 << 25, /* and so they do for names in all of them */
};

struct stack_count {
	uint64_t n_samples;
	size_t n_names;
	const uint32_t *names;
};

struct stack_counts {
	struct stack_count *list;
	size_t n, n_names; /* n_names: of all */
	struct stack_slot *slots;
	size_t n_slots; /* a power of two, at least twice n; or 0 */
	struct stack_block *newest;
	uint32_t crowd;	    /* a name: of a thread's stacks for which there is no room; 0: none */
	uint64_t n_crowded; /* samples of those, at least */
	uint64_t n_other;   /* samples of stacks beyond the limits that are in no crowd either */
	bool is_packed;	    /* nothing would make room any more */
};

void stack_counts_deinit(struct stack_counts *counts);

/* Counts a stack that was met so often. 0 or -ENOMEM */
int stack_counts_add_many(struct stack_counts *counts, const uint32_t *names, size_t n_names,
			  uint64_t n_samples);

/*
 * Forgets those that were met least often, at least half of them; they are of their thread's crowd
 * from then on, or, without one, others. (Without memory to do so, all stay.)
 */
void stack_counts_forget_rare(struct stack_counts *counts);

/*
 * Gives names another name; stacks that have the same ones then are counted together. 0 or -ENOMEM,
 * and all is as before.
 */
int stack_counts_rename(struct stack_counts *counts, uint32_t (*rename)(uint32_t name, void *arg),
			void *arg);

/* All of them, sorted by `compare` (qsort_r); the caller frees the list. 0 or -ENOMEM. */
int stack_counts_list(const struct stack_counts *counts,
		      int (*compare)(const void *a, const void *b, void *arg), void *arg,
		      struct stack_count **ret, size_t *ret_n);
