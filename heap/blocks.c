/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "heap/blocks.h"

enum { PLACES_FIRST = 1 << 4 }; /* there are processes with a block, and very many of them */

void blocks_deinit(struct blocks *blocks)
{
	free(blocks->places);
	*blocks = (struct blocks){ 0 };
}

static size_t first_place(const struct blocks *blocks, uint64_t key)
{
	/* Blocks that lie side by side are mostly asked for together; others are scattered. */
	uint64_t hash = (key >> 4) + ((key >> 14) * 0x9e3779b97f4a7c15ULL >> 20);

	return hash & (blocks->n_places - 1);
}

struct block *blocks_find(const struct blocks *blocks, uint64_t key)
{
	size_t i;

	if (!blocks->n_places)
		return NULL;
	for (i = first_place(blocks, key); blocks->places[i].key;
	     i = (i + 1) & (blocks->n_places - 1))
		if (blocks->places[i].key == key)
			return &blocks->places[i];
	return NULL;
}

static void put(struct blocks *blocks, const struct block *block)
{
	size_t i = first_place(blocks, block->key);

	while (blocks->places[i].key)
		i = (i + 1) & (blocks->n_places - 1);
	blocks->places[i] = *block;
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

/* What came behind it may have come there for its sake, and moves up. */
void blocks_remove(struct blocks *blocks, struct block *block)
{
	size_t mask = blocks->n_places - 1, hole = block - blocks->places, i = hole;

	for (;;) {
		i = (i + 1) & mask;
		if (!blocks->places[i].key)
			break;
		if (((i - first_place(blocks, blocks->places[i].key)) & mask) < ((i - hole) & mask))
			continue;
		blocks->places[hole] = blocks->places[i];
		hole = i;
	}
	blocks->places[hole].key = 0;
	blocks->n--;
}
