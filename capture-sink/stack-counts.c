/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A stack is a list of small numbers, and there is one a sample: uthash's own hash takes longer. */
#define HASH_FUNCTION(key, size, hash) ((hash) = hash_names((key), (size)))
#include <uthash.h>

#include "capture-sink/stack-counts.h"

static unsigned hash_names(const uint32_t *names, size_t size)
{
	uint64_t hash = size;

	for (size_t i = 0; i < size / sizeof(*names); i++)
		hash = (hash ^ names[i]) * 0x9e3779b97f4a7c15ULL;
	return hash >> 32;
}

struct stack_entry {
	UT_hash_handle hh;
	uint64_t n_samples;
	uint32_t n_names;
	uint32_t names[];
};

void stack_counts_deinit(struct stack_counts *counts)
{
	struct stack_entry *entry, *next;

	HASH_ITER(hh, counts->by_names, entry, next)
	{
		HASH_DEL(counts->by_names, entry);
		free(entry);
	}
}

int stack_counts_add(struct stack_counts *counts, const uint32_t *names, size_t n_names)
{
	size_t size = n_names * sizeof(*names);
	struct stack_entry *entry;

	HASH_FIND(hh, counts->by_names, names, size, entry);
	if (entry) {
		entry->n_samples++;
		return 0;
	}
	if (HASH_COUNT(counts->by_names) >= STACK_COUNTS_MAX) {
		counts->n_other++;
		return 0;
	}
	entry = malloc(sizeof(*entry) + size);
	if (!entry)
		return -ENOMEM;
	entry->n_samples = 1;
	entry->n_names = n_names;
	memcpy(entry->names, names, size);
	HASH_ADD_KEYPTR(hh, counts->by_names, entry->names, size, entry);
	return 0;
}

int stack_counts_list(const struct stack_counts *counts,
		      int (*compare)(const void *a, const void *b, void *arg), void *arg,
		      struct stack_count **ret, size_t *ret_n)
{
	size_t n = HASH_COUNT(counts->by_names), i = 0;
	struct stack_count *list = calloc(n ? n : 1, sizeof(*list));
	struct stack_entry *entry, *next;

	if (!list)
		return -ENOMEM;
	HASH_ITER(hh, counts->by_names, entry, next)
	list[i++] = (struct stack_count){ entry->n_samples, entry->n_names, entry->names };
	qsort_r(list, n, sizeof(*list), compare, arg);
	*ret = list;
	*ret_n = n;
	return 0;
}
