/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/mapping-table.h"

void mapping_table_deinit(struct mapping_table *table)
{
	free(table->list);
	*table = (struct mapping_table){ 0 };
}

static int reserve(struct mapping_table *table, size_t n)
{
	size_t n_allocated = table->n_allocated ? table->n_allocated : 16;
	struct mapping *list;

	if (n > MAPPING_TABLE_MAX)
		return -ENOSPC;
	while (n_allocated < n)
		n_allocated *= 2;
	if (n_allocated == table->n_allocated)
		return 0;
	list = reallocarray(table->list, n_allocated, sizeof(*list));
	if (!list)
		return -ENOMEM;
	table->list = list;
	table->n_allocated = n_allocated;
	return 0;
}

size_t mapping_table_behind(const struct mapping_table *table, uint64_t address)
{
	size_t low = 0, high = table->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts `n` mappings in the place of those from `first` up to, not including, `last`. */
static void replace(struct mapping_table *table, size_t first, size_t last,
		    const struct mapping *mappings, size_t n)
{
	memmove(table->list + first + n, table->list + last,
		(table->n - last) * sizeof(*table->list));
	memcpy(table->list + first, mappings, n * sizeof(*mappings));
	table->n = table->n - (last - first) + n;
}

/* Puts a mapping, or nothing, in the place of what is from `start` up to, not including, `end`. */
static int cover(struct mapping_table *table, uint64_t start, uint64_t end,
		 const struct mapping *mapping)
{
	struct mapping parts[3]; /* what is left before it, itself, what is left behind it */
	size_t first, last, n = 0;
	int r;

	if (end <= start)
		return -EINVAL;
	first = mapping_table_behind(table, start);
	for (last = first; last < table->n && table->list[last].start < end; last++)
		;
	if (first < last && table->list[first].start < start) {
		parts[n] = table->list[first];
		parts[n++].end = start;
	}
	if (mapping)
		parts[n++] = *mapping;
	if (first < last && table->list[last - 1].end > end) {
		parts[n] = table->list[last - 1];
		parts[n].offset += end - parts[n].start;
		parts[n++].start = end;
	}
	r = reserve(table, table->n - (last - first) + n);
	if (r == 0)
		replace(table, first, last, parts, n);
	return r;
}

int mapping_table_add(struct mapping_table *table, const struct mapping *mapping)
{
	return cover(table, mapping->start, mapping->end, mapping);
}

int mapping_table_remove(struct mapping_table *table, uint64_t start, uint64_t end)
{
	return cover(table, start, end, NULL);
}

const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address)
{
	size_t i = mapping_table_behind(table, address);

	return i < table->n && table->list[i].start <= address ? &table->list[i] : NULL;
}

int mapping_table_copy(struct mapping_table *table, const struct mapping_table *from)
{
	int r;

	if (!from->n) {
		table->n = 0;
		return 0;
	}
	r = reserve(table, from->n);
	if (r < 0)
		return r;
	memcpy(table->list, from->list, from->n * sizeof(*from->list));
	table->n = from->n;
	return 0;
}
