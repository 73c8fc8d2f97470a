/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "symbolizer/dwarf/string-pool.h"
#include "common/base/growing-list.h"

enum { BYTES_AT_FIRST = 1 << 16 };

void string_pool_init(struct string_pool *pool)
{
	*pool = (struct string_pool){ .size = 1 };
	pair_map_init(&pool->known, STRING_POOL_MAX);
	pool->error = GROWING_LIST_RESERVE(pool->bytes, pool->n_allocated, BYTES_AT_FIRST, 1);
	if (pool->error == 0)
		pool->bytes[0] = 0;
}

void string_pool_deinit(struct string_pool *pool)
{
	free(pool->bytes);
	pair_map_deinit(&pool->known);
	*pool = (struct string_pool){ 0 };
}

/* Appends a string. Returns its number. */
static uint32_t append(struct string_pool *pool, const char *string)
{
	size_t size = strlen(string) + 1, number = pool->size;

	if (size > STRING_POOL_SIZE_MAX - pool->size)
		pool->error = -EFBIG;
	if (pool->error == 0)
		pool->error = GROWING_LIST_RESERVE(pool->bytes, pool->n_allocated, BYTES_AT_FIRST,
						   pool->size + size);
	if (pool->error < 0)
		return 0;
	memcpy(pool->bytes + number, string, size);
	pool->size += size;
	return number;
}

uint32_t string_pool_add(struct string_pool *pool, const char *string)
{
	uint64_t address = (uintptr_t)string, *known;
	uint32_t number;

	if (!string || pool->error < 0)
		return 0;
	known = pair_map_find(&pool->known, address, 0);
	if (known)
		return *known;
	number = append(pool, string);
	if (number)
		pool->error = pair_map_add(&pool->known, address, 0, number);
	return number;
}
