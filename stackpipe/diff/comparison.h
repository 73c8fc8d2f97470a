/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares two recordings function by function; each is read as a report is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash-table.h"
#include "profile/events.h"

enum { COMPARISON_SIDES = 2 };

struct compared_function {
	UT_hash_handle hh;
	uint64_t self[COMPARISON_SIDES], total[COMPARISON_SIDES]; /* in the view's unit */
	uint64_t n[COMPARISON_SIDES];				  /* samples of `self` */
	char name[]; /* with a mark if not user code: " [kernel]" */
};

struct compared_side {
	const char *path;
	uint64_t sum, n; /* total in the view's unit; samples */
	double seconds;	 /* length of the recording */
	uint64_t n_lost;
	bool is_time, is_whole, is_sampled; /* is_sampled: false for waits: all are recorded */
	char view[EVENT_NAME_SIZE];	    /* of the view */
};

struct comparison {
	const char *view_name; /* NULL: weights of the first event */
	struct compared_side sides[COMPARISON_SIDES];
	struct compared_function *by_name;
};

/* Reads a side from its path. Returns an exit status; errors are reported. */
int comparison_read(struct comparison *comparison, int side);
void comparison_deinit(struct comparison *comparison);

/* Lists all functions, unordered; the caller frees the list. NULL: no memory. */
struct compared_function **comparison_list(const struct comparison *comparison, size_t *ret_n);
