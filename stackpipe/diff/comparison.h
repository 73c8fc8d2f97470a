/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two recordings side by side, function by function: each is gathered as a report is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash-table.h"
#include "profile/events.h"

enum { COMPARISON_SIDES = 2 };

struct compared_function {
	UT_hash_handle hh;
	uint64_t self[COMPARISON_SIDES], total[COMPARISON_SIDES]; /* in what is counted */
	uint64_t n[COMPARISON_SIDES];				  /* samples of `self` */
	char name[]; /* with what it is, if it is no function of the program: " [kernel]" */
};

struct compared_side {
	const char *path;
	uint64_t sum, n; /* of what is counted; samples */
	double seconds;	 /* that were recorded */
	uint64_t n_lost;
	bool is_time, is_whole, is_sampled; /* of samples; waits are there all of them */
	char view[EVENT_NAME_SIZE];	    /* what is counted */
};

struct comparison {
	const char *view_name; /* NULL: the time of the first event, or what else it counts */
	struct compared_side sides[COMPARISON_SIDES];
	struct compared_function *by_name;
};

/* Reads a side from its path. An exit status: what went wrong has been said. */
int comparison_read(struct comparison *comparison, int side);
void comparison_deinit(struct comparison *comparison);

/* All functions, in no order; the caller frees the list. NULL: no memory. */
struct compared_function **comparison_list(const struct comparison *comparison, size_t *ret_n);
