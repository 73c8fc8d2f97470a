/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From two numbers to one, for places (image, offset) and the like: open addressing, linear
 * probing, at most half full. On the path of every frame, hence no general hash table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PAIR_MAP_PRUNED_MIN = 1 << 12, /* pairs; with their room they take 256 KiB */
	PAIR_MAP_PRUNED_PART = 4,
};

struct pair_map {
	struct pair_map_entry *entries;
	size_t n, n_allocated; /* allocated: a power of two */
	size_t n_max;	       /* pairs that it may hold */
	size_t n_kept;	       /* by the last pair_map_prune() */
};

void pair_map_init(struct pair_map *map, size_t n_max);
void pair_map_deinit(struct pair_map *map);

/* Forgets all pairs. */
void pair_map_clear(struct pair_map *map);

/* NULL: the pair is not there. The pointer is void after the next pair_map_add(). */
uint64_t *pair_map_find(const struct pair_map *map, uint64_t a, uint64_t b);

/* Adds a pair that is not there yet: 0, -ENOSPC: n_max are there, or -ENOMEM. */
int pair_map_add(struct pair_map *map, uint64_t a, uint64_t b, uint64_t value);

/* Forgets a pair, if it is there. */
void pair_map_remove(struct pair_map *map, uint64_t a, uint64_t b);

/*
 * Forgets the pairs that are not to be kept, and gives their memory back. (Should there be no
 * memory to do so, all are kept.)
 */
void pair_map_keep(struct pair_map *map,
		   bool (*is_to_be_kept)(uint64_t a, uint64_t b, uint64_t value, void *arg),
		   void *arg);

/*
 * The same if it is worth looking through all of them: PAIR_MAP_PRUNED_MIN were added, and of as
 * many as were kept the last time one in PAIR_MAP_PRUNED_PART. (What is of no use is about as much,
 * and what is allocated may be four times all.) Whether it was.
 */
bool pair_map_prune(struct pair_map *map,
		    bool (*is_to_be_kept)(uint64_t a, uint64_t b, uint64_t value, void *arg),
		    void *arg);

/* Calls for each pair, in no particular order. */
void pair_map_each(const struct pair_map *map,
		   void (*each)(uint64_t a, uint64_t b, uint64_t value, void *arg), void *arg);
