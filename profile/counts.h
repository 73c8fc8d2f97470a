/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many samples each node and each function of a tree has, of those that are looked at. */
#pragma once

#include "profile/tree.h"

/* Which samples are looked at, and in what they are counted; all zero: every one of the first
 * event. */
struct counts_filter {
	uint64_t from, to; /* times; `to` 0: until the end. A wait counts as far as it is inside */
	const bool *threads;   /* by thread of the profile; NULL: all */
	const bool *functions; /* by function of the tree: one of a stack's at least; NULL: any */
	struct view view;
	bool has_waiters; /* waits are those of whoever has called the kernel: profile_waiter() */
};

struct function_count {
	uint32_t function;
	uint64_t self, total; /* total: once a sample, however often the function is in it */
};

struct counts {
	const struct tree *tree; /* borrowed */
	uint64_t *self, *total;	 /* by node */
	uint64_t *waited;	 /* by node, as it was: what are waits */
	uint64_t *preempted;	 /* by node: of `waited`, who only waited for a CPU */
	uint64_t *of_thread;	 /* by thread */
	uint64_t *of_waker;	 /* by thread: what others have waited until it woke them */
	struct function_count *functions; /* by number */
	uint64_t n;			  /* samples */
	uint64_t sum;			  /* of what is counted */
};

/* 0 or -ENOMEM */
int counts_init(struct counts *counts, const struct tree *tree, const struct counts_filter *filter);
void counts_deinit(struct counts *counts);

/* Those that have any samples, the most first (by self, then total); the caller frees the list. */
int counts_sort_functions(const struct counts *counts, struct function_count **ret, size_t *ret_n);
