/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many names, one behind the other in one piece of memory, known by where they begin. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NAME_STORE_MAX = 64 * 1024 * 1024 }; /* bytes of names with their zero bytes */

struct name_store {
	char *text;
	size_t size, n_allocated;
};

void name_store_deinit(struct name_store *store);

/*
 * Adds a name, in which a zero byte becomes '?', as it would end the name for whoever reads it.
 * What else it holds is for whoever prints it (common/base/text.h). 0, -ENOSPC or -ENOMEM.
 */
int name_store_add(struct name_store *store, const char *name, size_t size, uint32_t *ret);

static inline const char *name_store_get(const struct name_store *store, uint32_t name)
{
	return store->text + name;
}
