/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the live view counts anew on each redraw: one function's callers and callees, processes. */
#pragma once

#include "stackpipe/top/top.h"

enum top_side { TOP_CALLERS, TOP_CALLEES };

struct top_line {
	uint32_t function;
	int depth;
	uint64_t n;
};

/* Lists callers or callees of the selected function, the largest first. Returns how many lines. */
size_t top_make_tree(struct top *top, enum top_side side, struct top_line *ret, size_t n_max);

/* Finds the processes, or control groups, with the largest counts. Returns how many. */
size_t top_hottest_groups(struct top *top, struct top_group *ret, size_t n_max);

/* Writes the window's counted samples as folded stacks. 0 or -errno. */
int top_save(struct top *top, FILE *out);
