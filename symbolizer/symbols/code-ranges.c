/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/unwind/unwind-dropped.h"
#include "common/unwind/unwind-source.h"
#include "symbolizer/symbols/code-ranges.h"

/* 64 MiB of ranges; further FDEs are left out. */
enum { CODE_RANGES_MAX = 1 << 22 };

static int add_section(struct code_ranges *ranges, const struct unwind_source *source,
		       const struct cfi_section *section)
{
	_cleanup_(cfi_deinit) struct cfi cfi = { 0 };
	int r = cfi_read(section, &cfi);
	size_t n;

	if (r < 0)
		return r;
	unwind_source_drop_others(source, &cfi);
	n = cfi.n < CODE_RANGES_MAX - ranges->n ? cfi.n : CODE_RANGES_MAX - ranges->n;
	if (GROWING_LIST_RESIZE(ranges->list, ranges->n + n + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranges->list[ranges->n++] = (struct code_range){
			cfi.list[i].start,
			cfi.list[i].end - cfi.list[i].start,
		};
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

int code_ranges_init(struct code_ranges *ranges, const struct elf_image *elf)
{
	_cleanup_(unwind_bytes_deinit) struct unwind_bytes bytes = { 0 };
	int r = unwind_bytes_read(elf, &bytes);

	*ranges = (struct code_ranges){ 0 };
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < bytes.source.n_sections && r == 0; i++)
		r = add_section(ranges, &bytes.source, &bytes.source.sections[i]);
	if (r < 0)
		code_ranges_deinit(ranges);
	else if (bytes.source.n_sections > 1)
		qsort(ranges->list, ranges->n, sizeof(*ranges->list), compare_ranges);
	return r;
}

void code_ranges_deinit(struct code_ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct code_ranges){ 0 };
}

/* The last range that begins at or before an address; NULL: none does. */
static const struct code_range *find_last(const struct code_ranges *ranges, uint64_t address)
{
	const struct code_range *list = ranges->list;
	size_t first = 0, n = ranges->n;

	while (n > 1) { /* the last range at or before the address stays among them */
		size_t half = n / 2;

		first += list[first + half].start <= address ? half : 0;
		n -= half;
	}
	return n && list[first].start <= address ? &list[first] : NULL;
}

const struct code_range *code_ranges_find(const struct code_ranges *ranges, uint64_t address)
{
	const struct code_range *range = find_last(ranges, address);

	return range && address - range->start < range->size ? range : NULL;
}

bool code_ranges_begins_another(const struct code_ranges *ranges, uint64_t start, uint64_t address)
{
	const struct code_range *range = find_last(ranges, address);

	return range && range->start > start;
}

bool code_ranges_has_ended(const struct code_ranges *ranges, uint64_t start, uint64_t address)
{
	const struct code_range *range = code_ranges_find(ranges, start);

	return range && address - range->start >= range->size;
}
