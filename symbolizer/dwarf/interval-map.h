/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals of addresses that may overlap, made flat: which of those that hold an address has the
 * highest number is one binary search. Nested things that are numbered from the outside in are
 * thereby found by the innermost; so are things that contradict each other, by one of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { INTERVAL_NONE = UINT32_MAX };

struct interval {
	uint64_t start, end; /* the first address behind it */
	uint32_t number;     /* of what it belongs to; not INTERVAL_NONE */
};

struct interval_map {
	uint64_t *starts;  /* where an answer changes, ascending */
	uint32_t *numbers; /* the answer from there on; INTERVAL_NONE: nothing is there */
	size_t n;
};

/* Makes a map of `list`, which it reorders; an empty interval is ignored. 0 or -ENOMEM. */
int interval_map_init(struct interval_map *map, struct interval *list, size_t n);
void interval_map_deinit(struct interval_map *map);

/*
 * Makes a map of where intervals of different numbers in `list` overlap; the numbers in it mean
 * nothing. `list` must be as interval_map_init() has left it. 0 or -ENOMEM.
 */
int interval_map_init_overlaps(struct interval_map *map, const struct interval *list, size_t n);

/* The highest number that holds an address, or INTERVAL_NONE. */
uint32_t interval_map_find(const struct interval_map *map, uint64_t address);

/* Bytes that it takes. */
static inline size_t interval_map_size(const struct interval_map *map)
{
	return map->n * (sizeof(*map->starts) + sizeof(*map->numbers));
}
