/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The blocks that are alive, by their process and address: open addressing, linear probing, at most
 * three quarters full, and nothing is left where one has gone. On the path of every event.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	BLOCKS_MAX = 1 << 26, /* alive at a time: 3 GiB; further ones are refused, and counted */
	BLOCKS_ADDRESS_BITS = 48,
};

struct block {
	uint64_t key; /* process << BLOCKS_ADDRESS_BITS | address; 0: a free place */
	uint64_t time;
	uint64_t size : 56, interval : 8; /* interval: an index */
	uint32_t stack, thread;
};

struct blocks {
	struct block *places;
	size_t n, n_places; /* n_places: a power of two */
};

void blocks_deinit(struct blocks *blocks);

/* NULL: it is not there. The pointer is void after the next change. */
struct block *blocks_find(const struct blocks *blocks, uint64_t key);

/* Adds one that is not there. 0; -ENOSPC: BLOCKS_MAX are there; -ENOMEM. */
int blocks_add(struct blocks *blocks, const struct block *block);
void blocks_remove(struct blocks *blocks, struct block *block);
