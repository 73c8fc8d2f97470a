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

int mapping_table_add(struct mapping_table *table, const struct mapping *mapping)
{
	struct mapping parts[3]; /* what is left before it, itself, what is left behind it */
	size_t first, last, n = 0;
	int r;

	if (mapping->end <= mapping->start)
		return -EINVAL;
	r = reserve(table, table->n + 2);
	if (r < 0)
		return r;
	first = mapping_table_behind(table, mapping->start);
	for (last = first; last < table->n && table->list[last].start < mapping->end; last++)
		;
	if (first < last && table->list[first].start < mapping->start) {
		parts[n] = table->list[first];
		parts[n++].end = mapping->start;
	}
	parts[n++] = *mapping;
	if (first < last && table->list[last - 1].end > mapping->end) {
		parts[n] = table->list[last - 1];
		parts[n].offset += mapping->end - parts[n].start;
		parts[n++].start = mapping->end;
	}
	replace(table, first, last, parts, n);
	return 0;
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

void mapping_table_keep(struct mapping_table *table,
			bool (*is_to_be_kept)(const struct mapping *mapping, void *arg), void *arg)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n; i++)
		if (is_to_be_kept(&table->list[i], arg))
			table->list[n++] = table->list[i];
	table->n = n;
}
