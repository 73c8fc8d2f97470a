/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often each stack was met in one view, by its names as they were then, and each function
 * itself: what folded stacks are, and summaries.
 */
#pragma once

#include "formats/stack-counts.h"
#include "profile/stacks.h"

/* How many samples were in each function itself: all of them, however rare. */
struct leaf_counts {
	uint64_t *n_samples; /* by the number of its name */
	size_t n;	     /* names that have a count */
};

struct view_counts {
	const char *view_name; /* what was asked for; NULL: what is usual */
	bool emits_tid;	       /* stacks are of single threads */
	bool keeps_rare;       /* else those that are rare make room early */
	struct view view;
	bool has_view;
	struct stack_counts counts;
	struct leaf_counts leaves;
	uint64_t n_counted;	     /* in that view */
	uint64_t n_waits, n_wakeups; /* stacks that are such */
	uint64_t on_cpu_ns, waited_ns;
	uint32_t names[STACK_COUNT_NAMES_MAX]; /* of the stack that is counted */
};

void view_counts_deinit(struct view_counts *counts);

/* The stream has begun, with the events that it begins with. */
void view_counts_start(struct view_counts *counts, struct stacks *stacks);

/* Events come before the first stack: as soon as there is one of that name, it is counted. */
void view_counts_find_view(struct view_counts *counts, const struct events *events);

/* 0 or -ENOMEM */
int view_counts_add(struct view_counts *counts, struct stage *stage, struct stacks *stacks,
		    const struct named_stack *stack);

/* The stream is over: names are what they mean by now. 0 or -ENOMEM. */
int view_counts_finish(struct view_counts *counts, struct names *names);
