/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "profile/inlined-calls.h"

struct inlined_list {
	UT_hash_handle hh;
	uint32_t number, n;
	uint32_t names[];
};

void inlined_calls_deinit(struct inlined_calls *calls)
{
	HASH_CLEAR(hh, calls->by_names);
	for (size_t i = 0; i < calls->n; i++)
		free(calls->list[i]);
	free(calls->list);
	*calls = (struct inlined_calls){ 0 };
}

void inlined_calls_add(struct inlined_calls *calls, uint64_t image, uint64_t offset, uint32_t name)
{
	if (calls->image != image || calls->offset != offset) {
		calls->n_refused += calls->n_coming;
		calls->n_coming = 0;
	}
	calls->image = image;
	calls->offset = offset;
	if (calls->n_coming <= INLINED_CALLS_MAX)
		calls->coming[calls->n_coming] = name;
	calls->n_coming++;
}

/* A new list, whose names the caller fills in; NULL: there is no room. */
static struct inlined_list *new_list(struct inlined_calls *calls, size_t n)
{
	struct inlined_list *list;

	if (calls->n == INLINED_CALLS_LISTS)
		return NULL;
	if (!(calls->n & (calls->n - 1))) { /* a power of two: full */
		struct inlined_list **lists =
			reallocarray(calls->list, calls->n ? calls->n * 2 : 1, sizeof(*lists));

		if (!lists)
			return NULL;
		calls->list = lists;
	}
	list = malloc(sizeof(*list) + n * sizeof(*list->names));
	if (!list)
		return NULL;
	calls->list[calls->n] = list;
	list->number = ++calls->n;
	list->n = n;
	return list;
}

uint32_t inlined_calls_take(struct inlined_calls *calls, uint64_t image, uint64_t offset,
			    uint32_t function)
{
	size_t n = calls->n_coming, size = (n + 1) * sizeof(uint32_t);
	uint32_t names[INLINED_CALLS_MAX + 1] = { function };
	struct inlined_list *list;

	calls->n_coming = 0;
	if (!n)
		return 0;
	if (n > INLINED_CALLS_MAX || calls->image != image || calls->offset != offset) {
		calls->n_refused += n;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		names[n - i] = calls->coming[i];
	HASH_FIND(hh, calls->by_names, names, size, list);
	if (!list) {
		list = new_list(calls, n + 1);
		if (!list) {
			calls->n_refused += n;
			return 0;
		}
		memcpy(list->names, names, size);
		HASH_ADD_KEYPTR(hh, calls->by_names, list->names, size, list);
	}
	return list->number;
}

const uint32_t *inlined_calls_get(const struct inlined_calls *calls, uint32_t number, size_t *ret_n)
{
	const struct inlined_list *list = calls->list[number - 1];

	*ret_n = list->n;
	return list->names;
}
