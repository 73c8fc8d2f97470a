/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/growing-list.h"
#include "preload-source/reader/mapped-ranges.h"

void mapped_ranges_deinit(struct mapped_ranges *ranges)
{
	free(ranges->list);
	*ranges = (struct mapped_ranges){ 0 };
}

/* The first range that ends after an address. */
static size_t find(const struct mapped_ranges *ranges, uint64_t address)
{
	return BINARY_SEARCH(i, 0, ranges->n, ranges->list[i].end <= address);
}

int mapped_ranges_add(struct mapped_ranges *ranges, struct mapped_range range)
{
	size_t i = find(ranges, range.start);

	if (ranges->n == MAPPED_RANGES_MAX)
		return -ENOSPC;
	if (GROWING_LIST_MAKE_ROOM(ranges->list, ranges->n) < 0)
		return -ENOMEM;
	memmove(ranges->list + i + 1, ranges->list + i, (ranges->n - i) * sizeof(range));
	ranges->list[i] = range;
	ranges->n++;
	return 0;
}

bool mapped_ranges_take(struct mapped_ranges *ranges, uint64_t start, uint64_t end,
			struct mapped_range *ret)
{
	size_t i = find(ranges, start);

	if (i == ranges->n || ranges->list[i].start >= end)
		return false;
	*ret = ranges->list[i];
	ranges->n--;
	memmove(ranges->list + i, ranges->list + i + 1, (ranges->n - i) * sizeof(*ret));
	return true;
}
