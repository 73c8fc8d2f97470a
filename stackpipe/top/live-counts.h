/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts of functions over the last seconds of a stream, in one view: each sample is added once,
 * and taken off once, so that a picture costs as much as there are functions, not samples.
 */
#pragma once

#include <regex.h>

#include "profile/tree.h"

struct live_function {
	struct tree_function function;
	uint64_t self, total;
	uint64_t last_sample; /* that was added to it: one counts once */
	bool is_match;	      /* of the filter */
};

struct live_counts {
	struct profile *profile; /* borrowed */
	struct live_function *functions;
	size_t n_functions;
	struct pair_map by_function; /* (name, module and kind) → index */
	uint32_t *of_call;	     /* by call of the profile: index + 1; 0: not looked for */
	size_t n_of_call;
	size_t first, next; /* samples that are in the counts: from first up to next */
	struct view view;   /* what is counted */
	uint64_t n;	    /* what those of them are that pass the filters */
	uint64_t n_steps;   /* samples added or taken off, ever */
	int64_t process;    /* of the profile; -1: all */
	int64_t cgroup;	    /* a name of the profile's; -1: all */
	regex_t *symbol;    /* of functions; NULL: any */
	regex_t *cgroups;   /* of their paths; NULL: any */
	bool has_match;	    /* the stack that is being looked at */
};

void live_counts_init(struct live_counts *counts, struct profile *profile);
void live_counts_deinit(struct live_counts *counts);

/* Takes new samples in, and those before `since` out. 0 or -ENOMEM. */
int live_counts_follow(struct live_counts *counts, uint64_t since);

/* Counts again, after a filter or the view was changed. 0 or -ENOMEM. */
int live_counts_again(struct live_counts *counts);

/* What a sample is in the view if it passes the filters, else 0. */
uint64_t live_counts_amount(struct live_counts *counts, const struct profile_sample *sample);

/* The function of the i-th call at a location. 0 or -ENOMEM. */
int live_counts_function(struct live_counts *counts, const struct profile_location *location,
			 size_t i, uint32_t *ret);

enum live_order { LIVE_BY_SELF, LIVE_BY_TOTAL };

/* The functions with the most, at most `n_max` of them: how many. */
size_t live_counts_hottest(const struct live_counts *counts, enum live_order order, uint32_t *ret,
			   size_t n_max);
