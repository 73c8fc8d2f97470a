/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/base/name-store.h"

enum { FIRST_SIZE = 4096 };

void name_store_deinit(struct name_store *store)
{
	free(store->text);
	*store = (struct name_store){ 0 };
}

static int make_room(struct name_store *store, size_t size)
{
	if (size >= NAME_STORE_MAX - store->size)
		return -ENOSPC;
	return GROWING_LIST_RESERVE(store->text, store->n_allocated, FIRST_SIZE,
				    store->size + size + 1);
}

int name_store_add(struct name_store *store, const char *name, size_t size, uint32_t *ret)
{
	int r = make_room(store, size);
	char *at;

	if (r < 0)
		return r;
	at = store->text + store->size;
	memcpy(at, name, size);
	at[size] = 0;
	for (char *zero = at; (zero = memchr(zero, 0, at + size - zero));)
		*zero = '?';
	*ret = store->size;
	store->size += size + 1;
	return 0;
}
