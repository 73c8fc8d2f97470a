/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flattens address intervals that may overlap: one binary search finds the highest number at an
 * address. Of nested things numbered from the outside in it is the innermost; else, one of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { INTERVAL_NONE = UINT32_MAX };

struct interval {
	uint64_t start, end; /* `end` is exclusive */
	uint32_t number;     /* of its owner; not INTERVAL_NONE */
};

struct interval_map {
	uint64_t *starts;  /* ascending addresses where the answer changes */
	uint32_t *numbers; /* answers from there on; INTERVAL_NONE: none */
	size_t n;
};

/* Builds a map of `list`, which is reordered; empty intervals are ignored. 0 or -ENOMEM. */
int interval_map_init(struct interval_map *map, struct interval *list, size_t n);
void interval_map_deinit(struct interval_map *map);

/*
 * Builds a map of where intervals of different numbers overlap; its own numbers mean nothing.
 * `list` must be as interval_map_init() left it. 0 or -ENOMEM.
 */
int interval_map_init_overlaps(struct interval_map *map, const struct interval *list, size_t n);

/* The highest number at an address, or INTERVAL_NONE. */
uint32_t interval_map_find(const struct interval_map *map, uint64_t address);

/* Bytes of memory. */
static inline size_t interval_map_size(const struct interval_map *map)
{
	return map->n * (sizeof(*map->starts) + sizeof(*map->numbers));
}
