/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the live view counts anew each time that it is looked at: of one function, of processes. */
#pragma once

#include "stackpipe/top/top.h"

enum top_side { TOP_CALLERS, TOP_CALLEES };

struct top_line {
	uint32_t function;
	int depth;
	uint64_t n;
};

/* Branches from the function that was zoomed into, the largest first: how many lines. */
size_t top_make_tree(struct top *top, enum top_side side, struct top_line *ret, size_t n_max);

/* The processes, or the control groups, with the most: how many. */
size_t top_hottest_groups(struct top *top, struct top_group *ret, size_t n_max);

/* Writes what is counted of the window as folded stacks. 0 or -errno. */
int top_save(struct top *top, FILE *out);
