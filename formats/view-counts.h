/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sample counts of each stack in one view, by its names at that time, and of each leaf function:
 * the data of folded stacks and of summaries.
 */
#pragma once

#include "formats/stack-counts.h"
#include "profile/stacks.h"

/* Samples in each function itself, however rare. */
struct leaf_counts {
	uint64_t *n_samples; /* by the number of its name */
	size_t n;	     /* names that have a count */
};

struct view_counts {
	const char *view_name; /* as requested; NULL: the default */
	bool emits_tid;	       /* stacks are of single threads */
	bool keeps_rare;       /* otherwise rare stacks are dropped early */
	struct view view;
	bool has_view;
	struct stack_counts counts;
	struct leaf_counts leaves;
	uint64_t n_counted;	     /* in that view */
	uint64_t n_waits, n_wakeups; /* stacks of such events */
	uint64_t on_cpu_ns, waited_ns;
	uint32_t names[STACK_COUNT_NAMES_MAX]; /* of the stack being counted */
};

void view_counts_deinit(struct view_counts *counts);

/* At the start of the stream, with its first event. */
void view_counts_start(struct view_counts *counts, struct stacks *stacks);

/* Selects the view by name. Called again for later events, which come before the first stack. */
void view_counts_find_view(struct view_counts *counts, const struct events *events);

/* 0 or -ENOMEM */
int view_counts_add(struct view_counts *counts, struct stage *stage, struct stacks *stacks,
		    const struct named_stack *stack);

/* At the end of the stream: replaces provisional names by their meaning. 0 or -ENOMEM. */
int view_counts_finish(struct view_counts *counts, struct names *names);
