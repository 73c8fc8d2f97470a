/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "formats/leaf-counts.h"
#include "common/base/sum.h"

void leaf_counts_deinit(struct leaf_counts *counts)
{
	free(counts->n_samples);
	*counts = (struct leaf_counts){ 0 };
}

/* Half as many again as there are names. */
static int grow(struct leaf_counts *counts, size_t n_names)
{
	return GROWING_LIST_EXTEND(counts->n_samples, counts->n, n_names + n_names / 2 + 1);
}

int leaf_counts_add(struct leaf_counts *counts, uint32_t name, size_t n_names, uint64_t n)
{
	if (name >= counts->n && grow(counts, name < n_names ? n_names : name) < 0)
		return -ENOMEM;
	sum_add(&counts->n_samples[name], n);
	return 0;
}
