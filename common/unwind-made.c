/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/unwind-made.h"

/* One section, whose rules are being told. */
struct maker {
	struct unwind_made *made;
	uint64_t bias; /* of an address: offset = address + bias */
	uint64_t end;  /* offset of its first byte behind */
};

static int add_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	const struct maker *maker = arg;
	struct unwind_made *made = maker->made;
	uint64_t from = address + maker->bias;

	if (made->n && made->list[made->n - 1].to > from)
		made->list[made->n - 1].to = from; /* it was said to hold up to the end */
	if (made->n == made->n_allocated) {
		size_t n = made->n ? made->n * 2 : 64;
		struct unwind_made_row *list = reallocarray(made->list, n, sizeof(*list));

		if (!list)
			return -ENOMEM;
		made->list = list;
		made->n_allocated = n;
	}
	made->list[made->n++] = (struct unwind_made_row){ from, maker->end, *rule };
	return 0;
}

static int add_plt(const struct unwind_source *source, const struct plt_code *plt,
		   struct unwind_made *made)
{
	const struct unwind_segment *segment = unwind_source_segment(source, plt->address);
	struct maker maker = { .made = made };
	const struct cfi_rows rows = { add_row, &maker };
	int r;

	if (!segment || plt->size > segment->size - (plt->address - segment->address)) {
		made->n_refused++;
		return 0;
	}
	maker.bias = segment->offset - segment->address;
	maker.end = plt->address + plt->size + maker.bias;
	r = source->arch->plt_rows(plt, &rows);
	made->n_refused += r > 0;
	return r < 0 ? r : 0;
}

static int compare(const void *a, const void *b)
{
	const struct unwind_made_row *left = a, *right = b;

	return left->from < right->from ? -1 : left->from > right->from;
}

/* Sections that lie within each other are a lie: the one that begins first is believed. */
static void cut_overlaps(struct unwind_made *made)
{
	uint64_t end = 0;
	size_t n = 0;

	for (size_t i = 0; i < made->n; i++) {
		struct unwind_made_row *row = &made->list[i];

		if (row->from < end)
			row->from = end;
		if (row->from >= row->to)
			continue;
		end = row->to;
		made->list[n++] = *row;
	}
	made->n = n;
}

int unwind_made_find(const struct unwind_source *source, struct unwind_made *ret)
{
	_cleanup_(unwind_made_deinit) struct unwind_made made = { 0 };
	int r = 0;

	for (size_t i = 0; i < source->n_plts && r == 0; i++)
		r = add_plt(source, &source->plts[i], &made);
	if (r < 0)
		return r;
	if (made.n)
		qsort(made.list, made.n, sizeof(*made.list), compare);
	cut_overlaps(&made);
	*ret = made;
	made = (struct unwind_made){ 0 };
	return 0;
}

void unwind_made_deinit(struct unwind_made *made)
{
	free(made->list);
	*made = (struct unwind_made){ 0 };
}
