/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many names in one block of memory, each identified by its offset. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { NAME_STORE_MAX = 64 * 1024 * 1024 }; /* bytes of names and their zero bytes */

struct name_store {
	char *text;
	size_t size, n_allocated;
};

void name_store_deinit(struct name_store *store);

/*
 * Adds a name. Zero bytes in it, which would end it early, become '?'; the rest is escaped when
 * printed (common/base/text.h). Returns 0, -ENOSPC or -ENOMEM.
 */
int name_store_add(struct name_store *store, const char *name, size_t size, uint32_t *ret);

static inline const char *name_store_get(const struct name_store *store, uint32_t name)
{
	return store->text + name;
}
