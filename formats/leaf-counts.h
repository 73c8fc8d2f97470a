/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many samples were in each function itself, by the number of its name: all of them, however
 * rare. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct leaf_counts {
	uint64_t *n_samples;
	size_t n; /* names that have a count */
};

void leaf_counts_deinit(struct leaf_counts *counts);

/* One sample more, which counts `n`. `n_names`: that there are. 0 or -ENOMEM. */
int leaf_counts_add(struct leaf_counts *counts, uint32_t name, size_t n_names, uint64_t n);
