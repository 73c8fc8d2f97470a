/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process's live blocks by address, used at every event: a hash table with open addressing and
 * linear probing, at most three quarters full. Removals close gaps, so there are no tombstones.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	BLOCKS_MAX = 1 << 26, /* live in a process: 4 GiB; further ones are refused and counted */
	BLOCKS_ADDRESS_BITS = 48,
};

struct block {
	uint64_t key; /* process index << BLOCKS_ADDRESS_BITS | address; 0: free */
	uint64_t time;
	uint64_t size : 56, interval : 8; /* interval: index of heap.intervals */
	uint32_t stack, thread;
};

struct blocks {
	struct block *places;
	size_t n, n_places; /* n_places: a power of two */
};

void blocks_deinit(struct blocks *blocks);

/* NULL: not found. The pointer is valid until the next change. */
struct block *blocks_find(const struct blocks *blocks, uint64_t key);

/* Adds a block whose key is new. 0; -ENOSPC: BLOCKS_MAX reached; -ENOMEM. */
int blocks_add(struct blocks *blocks, const struct block *block);
void blocks_remove(struct blocks *blocks, struct block *block);
