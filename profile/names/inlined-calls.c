/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/base/hash-table.h"
#include "profile/names/inlined-calls.h"

struct inlined_list {
	UT_hash_handle hh;
	uint32_t number, n;
	uint32_t data[]; /* `n` names, then their lines */
};

static size_t data_size(size_t n)
{
	return n * (sizeof(uint32_t) + sizeof(struct source_line));
}

void inlined_calls_deinit(struct inlined_calls *calls)
{
	HASH_CLEAR(hh, calls->by_calls);
	for (size_t i = 0; i < calls->n; i++)
		free(calls->list[i]);
	free(calls->list);
	*calls = (struct inlined_calls){ 0 };
}

void inlined_calls_add(struct inlined_calls *calls, uint64_t image, uint64_t offset, uint32_t name,
		       struct source_line line)
{
	if (calls->image != image || calls->offset != offset) {
		calls->n_refused += calls->n_coming;
		calls->n_coming = 0;
	}
	calls->image = image;
	calls->offset = offset;
	if (calls->n_coming <= INLINED_CALLS_MAX) {
		calls->coming[calls->n_coming] = name;
		calls->coming_lines[calls->n_coming] = line;
	}
	calls->n_coming++;
}

/* A new list, whose names the caller fills in; NULL: limit reached, or no memory. */
static struct inlined_list *new_list(struct inlined_calls *calls, size_t n)
{
	struct inlined_list *list;

	if (calls->n == INLINED_CALLS_LISTS)
		return NULL;
	if (GROWING_LIST_MAKE_ROOM(calls->list, calls->n) < 0)
		return NULL;
	list = malloc(sizeof(*list) + data_size(n));
	if (!list)
		return NULL;
	calls->list[calls->n] = list;
	list->number = ++calls->n;
	list->n = n;
	return list;
}

/* Makes a list's data: the function, then the calls that came. Returns its size in bytes. */
static size_t make_data(const struct inlined_calls *calls, uint32_t function,
			struct source_line line, uint32_t *ret)
{
	size_t n = calls->n_coming + 1;
	struct source_line *lines = (void *)(ret + n);

	ret[0] = function;
	lines[0] = line;
	for (size_t i = 1; i < n; i++) {
		ret[n - i] = calls->coming[i - 1];
		lines[n - i] = calls->coming_lines[i - 1];
	}
	return data_size(n);
}

uint32_t inlined_calls_take(struct inlined_calls *calls, uint64_t image, uint64_t offset,
			    uint32_t function, struct source_line line)
{
	uint32_t data[3 * (INLINED_CALLS_MAX + 1)];
	struct inlined_list *list;
	size_t n = calls->n_coming, size;

	if (!n)
		return 0;
	if (n > INLINED_CALLS_MAX || calls->image != image || calls->offset != offset) {
		calls->n_refused += n;
		calls->n_coming = 0;
		return 0;
	}
	size = make_data(calls, function, line, data);
	calls->n_coming = 0;
	HASH_FIND(hh, calls->by_calls, data, size, list);
	if (!list) {
		list = new_list(calls, n + 1);
		if (!list) {
			calls->n_refused += n;
			return 0;
		}
		memcpy(list->data, data, size);
		HASH_ADD_KEYPTR(hh, calls->by_calls, list->data, size, list);
	}
	return list->number;
}

const uint32_t *inlined_calls_get(const struct inlined_calls *calls, uint32_t number, size_t *ret_n)
{
	const struct inlined_list *list = calls->list[number - 1];

	*ret_n = list->n;
	return list->data;
}

const struct source_line *inlined_calls_lines(const struct inlined_calls *calls, uint32_t number)
{
	const struct inlined_list *list = calls->list[number - 1];

	return (const void *)(list->data + list->n);
}
