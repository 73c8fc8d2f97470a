/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/hash.h"
#include "heap/blocks.h"

enum { PLACES_FIRST = 1 << 4 }; /* small: there may be very many processes of few blocks */

void blocks_deinit(struct blocks *blocks)
{
	free(blocks->places);
	*blocks = (struct blocks){ 0 };
}

static uint64_t hash(uint64_t key)
{
	/* Blocks of the same 16 KiB, mostly used together, stay in order; others are scattered. */
	return (key >> 4) + (hash_word(0, key >> 14) >> 20);
}

struct block *blocks_find(const struct blocks *blocks, uint64_t key)
{
	struct block *found;

	if (!blocks->n_places)
		return NULL;
	found = HASH_PROBE(blocks->places, blocks->n_places, hash(key), place,
			   !place->key || place->key == key);
	return found->key ? found : NULL;
}

static void put(struct blocks *blocks, const struct block *block)
{
	struct block *free_place =
		HASH_PROBE(blocks->places, blocks->n_places, hash(block->key), place, !place->key);

	*free_place = *block;
	blocks->n++;
}

static int grow(struct blocks *blocks)
{
	size_t n = blocks->n_places ? blocks->n_places * 2 : PLACES_FIRST;
	struct blocks larger = { .places = calloc(n, sizeof(*larger.places)), .n_places = n };

	if (!larger.places)
		return -ENOMEM;
	for (size_t i = 0; i < blocks->n_places; i++)
		if (blocks->places[i].key)
			put(&larger, &blocks->places[i]);
	free(blocks->places);
	*blocks = larger;
	return 0;
}

int blocks_add(struct blocks *blocks, const struct block *block)
{
	int r = 0;

	if (blocks->n == BLOCKS_MAX)
		return -ENOSPC;
	if (blocks->n >= blocks->n_places / 4 * 3)
		r = grow(blocks);
	if (r == 0)
		put(blocks, block);
	return r;
}

void blocks_remove(struct blocks *blocks, struct block *block)
{
	struct block *gap = HASH_CLOSE_GAP(blocks->places, blocks->n_places, block, place,
					   hash(place->key), !place->key);

	gap->key = 0;
	blocks->n--;
}
