/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps two numbers to one, e.g. locations (image, offset): open addressing, linear probing, at most
 * half full. Every frame is looked up here, hence no general hash table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PAIR_MAP_PRUNED_MIN = 1 << 12, /* pairs; half full, they take 256 KiB */
	PAIR_MAP_PRUNED_PART = 4,
};

struct pair_map {
	struct pair_map_entry *entries;
	size_t n, n_allocated; /* `n_allocated` is a power of two */
	size_t n_max;	       /* limit of pairs */
	size_t n_kept;	       /* pairs that the last pair_map_prune() kept */
};

void pair_map_init(struct pair_map *map, size_t n_max);
void pair_map_deinit(struct pair_map *map);

/* Removes all pairs; keeps the memory. */
void pair_map_clear(struct pair_map *map);

/* Returns a pair's value, valid until the map changes; NULL: there is no such pair. */
uint64_t *pair_map_find(const struct pair_map *map, uint64_t a, uint64_t b);

/* Adds a new pair. Returns 0, -ENOSPC (there are n_max) or -ENOMEM. */
int pair_map_add(struct pair_map *map, uint64_t a, uint64_t b, uint64_t value);

/* Removes a pair if it is there. */
void pair_map_remove(struct pair_map *map, uint64_t a, uint64_t b);

/* Removes and frees pairs for which `is_to_be_kept` is false; without memory, keeps all. */
void pair_map_keep(struct pair_map *map,
		   bool (*is_to_be_kept)(uint64_t a, uint64_t b, uint64_t value, void *arg),
		   void *arg);

/*
 * Calls pair_map_keep() and returns true if enough pairs were added since the last time:
 * PAIR_MAP_PRUNED_MIN, and one for every PAIR_MAP_PRUNED_PART kept then. (So at most about that
 * many pairs are useless, and up to four entries are allocated for each pair.)
 */
bool pair_map_prune(struct pair_map *map,
		    bool (*is_to_be_kept)(uint64_t a, uint64_t b, uint64_t value, void *arg),
		    void *arg);

/* Calls `each` for every pair, in no particular order. */
void pair_map_each(const struct pair_map *map,
		   void (*each)(uint64_t a, uint64_t b, uint64_t value, void *arg), void *arg);
