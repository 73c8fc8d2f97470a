/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts of functions over a sliding window of a stream, in one view. Each sample is added once and
 * removed once, so the cost of a redraw depends on the number of functions, not of samples.
 */
#pragma once

#include <regex.h>

#include "profile/tree.h"

struct live_function {
	struct tree_function function;
	uint64_t self, total;
	uint64_t last_sample; /* number of the last step that counted it, to count a sample once */
	bool is_match;	      /* its name matches `symbol` */
};

struct live_counts {
	struct profile *profile; /* borrowed */
	struct live_function *functions;
	size_t n_functions;
	struct pair_map by_function; /* (name, module and kind) → index */
	uint32_t *of_call;	     /* by call of the profile: index + 1; 0: not looked up yet */
	size_t n_of_call;
	size_t first, next; /* samples first..next-1 are counted */
	struct view view;
	uint64_t n;	  /* their sum in the view, filters applied */
	uint64_t n_steps; /* samples added or removed so far */
	int64_t process;  /* only this process of the profile; -1: all */
	int64_t cgroup;	  /* only this control group (a name of the profile); -1: all */
	regex_t *symbol;  /* filter of function names; NULL: any */
	regex_t *cgroups; /* filter of control group paths; NULL: any */
	bool has_match;	  /* result of live_counts_amount()'s walk of one stack */
};

void live_counts_init(struct live_counts *counts, struct profile *profile);
void live_counts_deinit(struct live_counts *counts);

/* Adds new samples and removes those before `since`. 0 or -ENOMEM. */
int live_counts_follow(struct live_counts *counts, uint64_t since);

/* Recounts after a filter or the view was changed. 0 or -ENOMEM. */
int live_counts_again(struct live_counts *counts);

/* The sample's amount in the view if it passes the filters, else 0. */
uint64_t live_counts_amount(struct live_counts *counts, const struct profile_sample *sample);

/* Finds the function of a location's i-th call. 0 or -ENOMEM. */
int live_counts_function(struct live_counts *counts, const struct profile_location *location,
			 size_t i, uint32_t *ret);

enum live_order { LIVE_BY_SELF, LIVE_BY_TOTAL };

/* Finds the at most `n_max` functions with the largest counts. Returns how many. */
size_t live_counts_hottest(const struct live_counts *counts, enum live_order order, uint32_t *ret,
			   size_t n_max);
