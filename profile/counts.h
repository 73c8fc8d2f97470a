/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sample counts of each node and each function of a tree, for the samples that a filter selects. */
#pragma once

#include "profile/tree.h"

/* The samples to count, and the view to count them in. All zero: all samples of event 0. */
struct counts_filter {
	uint64_t from, to;     /* times; `to` 0: no end. A wait counts only its part inside */
	const bool *threads;   /* by thread of the profile; NULL: all */
	const bool *functions; /* by function of the tree: stacks must have one; NULL: any */
	struct view view;
	bool has_waiters; /* waits and wake-ups count at their waiter: profile_waiter() */
	/* Another condition, and what is done with each sample that counts `n`; NULL: none. */
	bool (*is_wanted)(const struct profile_sample *sample, const void *arg);
	int (*add)(const struct profile_sample *sample, uint64_t n, void *arg);
	void *arg;
};

struct function_count {
	uint32_t function;
	uint64_t self, total; /* total: one sample counts once, even if the function recurs */
};

struct counts {
	const struct tree *tree; /* borrowed */
	uint64_t *self, *total;	 /* by node */
	uint64_t *waited;	 /* by node, not moved to waiters: the waits in it */
	uint64_t *preempted;	 /* by node: the part of `waited` spent waiting only for a CPU */
	uint64_t *of_thread;	 /* by thread */
	uint64_t *of_waker;	 /* by thread: waits of other threads that it ended */
	struct function_count *functions; /* by number */
	uint64_t n;			  /* samples */
	uint64_t sum;			  /* in units of the view */
};

/* 0 or -ENOMEM */
int counts_init(struct counts *counts, const struct tree *tree, const struct counts_filter *filter);
void counts_deinit(struct counts *counts);

/* Lists functions with samples, by self, then total, largest first. The caller frees the list. */
int counts_sort_functions(const struct counts *counts, struct function_count **ret, size_t *ret_n);
