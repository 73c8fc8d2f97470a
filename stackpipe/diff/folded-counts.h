/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of functions by name in folded stacks, of one recording or two side by side. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "common/base/hash-table.h"

enum { FOLDED_SIDES = 2 };

struct folded_function {
	UT_hash_handle hh;
	uint64_t self[FOLDED_SIDES], total[FOLDED_SIDES];
	uint64_t last_line; /* number of the last line that counted it, to count a line once */
	char name[];
};

struct folded_counts {
	struct folded_function *by_name;
	uint64_t n[FOLDED_SIDES]; /* sum of the lines' amounts */
	uint64_t n_lines;
};

/* Adds all lines of `in`; lines without an amount are skipped. 0, -EIO or -ENOMEM. */
int folded_counts_read(struct folded_counts *counts, FILE *in, int side);
void folded_counts_deinit(struct folded_counts *counts);

/* Lists all functions, unordered; the caller frees the list. NULL: no memory. */
struct folded_function **folded_counts_list(const struct folded_counts *counts, size_t *ret_n);

/* Writes the functions as the last member of a JSON object, and closes the object. */
void folded_counts_put_functions(struct folded_function *const *list, size_t n, FILE *out);
