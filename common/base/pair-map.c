/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/pair-map.h"

enum { ALLOCATED_AT_FIRST = 1024 };

struct pair_map_entry {
	uint64_t a, b, value;
	uint64_t is_used;
};

void pair_map_init(struct pair_map *map, size_t n_max)
{
	*map = (struct pair_map){ .n_max = n_max };
}

void pair_map_deinit(struct pair_map *map)
{
	free(map->entries);
	*map = (struct pair_map){ .n_max = map->n_max };
}

void pair_map_clear(struct pair_map *map)
{
	if (map->entries)
		memset(map->entries, 0, map->n_allocated * sizeof(*map->entries));
	map->n = 0;
}

/* The finalizer of MurmurHash3 over both: every input bit affects the lower bits. */
static uint64_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = a * HASH_FACTOR ^ b;

	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/* Returns the entry of a pair, or the free entry where it belongs. */
static struct pair_map_entry *find_entry(const struct pair_map *map, uint64_t a, uint64_t b)
{
	return HASH_PROBE(map->entries, map->n_allocated, hash(a, b), entry,
			  !entry->is_used || (entry->a == a && entry->b == b));
}

uint64_t *pair_map_find(const struct pair_map *map, uint64_t a, uint64_t b)
{
	struct pair_map_entry *entry = map->n ? find_entry(map, a, b) : NULL;

	return entry && entry->is_used ? &entry->value : NULL;
}

static int grow(struct pair_map *map)
{
	struct pair_map larger = *map;

	larger.n_allocated = map->n_allocated ? map->n_allocated * 2 : ALLOCATED_AT_FIRST;
	larger.entries = calloc(larger.n_allocated, sizeof(*larger.entries));
	if (!larger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->n_allocated; i++)
		if (map->entries[i].is_used)
			*find_entry(&larger, map->entries[i].a, map->entries[i].b) =
				map->entries[i];
	free(map->entries);
	*map = larger;
	return 0;
}

int pair_map_add(struct pair_map *map, uint64_t a, uint64_t b, uint64_t value)
{
	int r;

	if (map->n >= map->n_max)
		return -ENOSPC;
	if (map->n * 2 >= map->n_allocated) {
		r = grow(map);
		if (r < 0)
			return r;
	}
	*find_entry(map, a, b) = (struct pair_map_entry){ a, b, value, true };
	map->n++;
	return 0;
}

void pair_map_remove(struct pair_map *map, uint64_t a, uint64_t b)
{
	struct pair_map_entry *gap;

	if (!pair_map_find(map, a, b))
		return;
	gap = HASH_CLOSE_GAP(map->entries, map->n_allocated, find_entry(map, a, b), entry,
			     hash(entry->a, entry->b), !entry->is_used);
	gap->is_used = false;
	map->n--;
}

void pair_map_keep(struct pair_map *map,
		   bool (*is_to_be_kept)(uint64_t a, uint64_t b, uint64_t value, void *arg),
		   void *arg)
{
	struct pair_map kept = { .n_max = map->n_max };

	for (size_t i = 0; i < map->n_allocated; i++) {
		const struct pair_map_entry *entry = &map->entries[i];

		if (!entry->is_used || !is_to_be_kept(entry->a, entry->b, entry->value, arg))
			continue;
		if (pair_map_add(&kept, entry->a, entry->b, entry->value) < 0) {
			pair_map_deinit(&kept);
			return;
		}
	}
	free(map->entries);
	*map = kept;
}

bool pair_map_prune(struct pair_map *map,
		    bool (*is_to_be_kept)(uint64_t a, uint64_t b, uint64_t value, void *arg),
		    void *arg)
{
	if (map->n <= map->n_kept + map->n_kept / PAIR_MAP_PRUNED_PART + PAIR_MAP_PRUNED_MIN)
		return false;
	pair_map_keep(map, is_to_be_kept, arg);
	map->n_kept = map->n;
	return true;
}

void pair_map_each(const struct pair_map *map,
		   void (*each)(uint64_t a, uint64_t b, uint64_t value, void *arg), void *arg)
{
	for (size_t i = 0; i < map->n_allocated; i++)
		if (map->entries[i].is_used)
			each(map->entries[i].a, map->entries[i].b, map->entries[i].value, arg);
}
