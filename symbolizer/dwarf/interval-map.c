/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "symbolizer/dwarf/interval-map.h"

/*
 * A heap, highest number on top, of the intervals at the address that a sweep has reached. It may
 * hold ended ones, which are harmless below the top.
 */
struct active {
	const struct interval **heap;
	size_t n;
};

static void push(struct active *active, const struct interval *interval)
{
	size_t i = active->n++;

	while (i && active->heap[(i - 1) / 2]->number < interval->number) {
		active->heap[i] = active->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	active->heap[i] = interval;
}

static void pop(struct active *active)
{
	const struct interval *last = active->heap[--active->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= active->n)
			break;
		if (child + 1 < active->n &&
		    active->heap[child + 1]->number > active->heap[child]->number)
			child++;
		if (active->heap[child]->number <= last->number)
			break;
		active->heap[i] = active->heap[child];
		i = child;
	}
	active->heap[i] = last;
}

static int compare(const void *a, const void *b)
{
	const struct interval *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void add(struct interval_map *map, uint64_t start, uint32_t number)
{
	if (map->n ? map->numbers[map->n - 1] == number : number == INTERVAL_NONE)
		return;
	map->starts[map->n] = start;
	map->numbers[map->n++] = number;
}

/* Visits each address where an interval begins, or the highest one ends. */
static void sweep(struct interval_map *map, struct active *active, const struct interval *list,
		  size_t n)
{
	uint64_t address = 0;

	for (size_t i = 0; i < n || active->n;) {
		if (!active->n)
			address = list[i].start;
		for (; i < n && list[i].start <= address; i++)
			if (list[i].end > list[i].start)
				push(active, &list[i]);
		while (active->n && active->heap[0]->end <= address)
			pop(active);
		add(map, address, active->n ? active->heap[0]->number : INTERVAL_NONE);
		if (active->n)
			address = i < n && list[i].start < active->heap[0]->end
					  ? list[i].start
					  : active->heap[0]->end;
	}
}

int interval_map_init(struct interval_map *map, struct interval *list, size_t n)
{
	_cleanup_free_ const struct interval **heap = calloc(n + 1, sizeof(*heap));
	struct active active = { .heap = heap };

	/* The answer changes at most where an interval begins or ends. */
	*map = (struct interval_map){
		.starts = calloc(2 * n + 1, sizeof(*map->starts)),
		.numbers = calloc(2 * n + 1, sizeof(*map->numbers)),
	};
	if (!heap || !map->starts || !map->numbers) {
		interval_map_deinit(map);
		return -ENOMEM;
	}
	if (n)
		qsort(list, n, sizeof(*list), compare);
	sweep(map, &active, list, n);
	GROWING_LIST_TRIM(map->starts, map->n); /* allocated for the worst case */
	GROWING_LIST_TRIM(map->numbers, map->n);
	return 0;
}

/* The overlap with a later interval; may be empty. */
static struct interval intersect(const struct interval *later, uint64_t end)
{
	return (struct interval){ later->start, end < later->end ? end : later->end, 0 };
}

int interval_map_init_overlaps(struct interval_map *map, const struct interval *list, size_t n)
{
	_cleanup_free_ struct interval *overlaps = calloc(n + 1, sizeof(*overlaps));
	struct interval longest = { .number = INTERVAL_NONE };
	uint64_t end_of_others = 0; /* of numbers other than `longest`'s */
	size_t n_overlaps = 0;

	*map = (struct interval_map){ 0 };
	if (!overlaps)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		bool is_same = list[i].number == longest.number;

		overlaps[n_overlaps] = intersect(&list[i], is_same ? end_of_others : longest.end);
		n_overlaps += overlaps[n_overlaps].start < overlaps[n_overlaps].end;
		if (list[i].end > longest.end) {
			end_of_others = is_same ? end_of_others : longest.end;
			longest = list[i];
		} else if (!is_same && list[i].end > end_of_others) {
			end_of_others = list[i].end;
		}
	}
	return interval_map_init(map, overlaps, n_overlaps);
}

void interval_map_deinit(struct interval_map *map)
{
	free(map->starts);
	free(map->numbers);
	*map = (struct interval_map){ 0 };
}

uint32_t interval_map_find(const struct interval_map *map, uint64_t address)
{
	size_t first = 0, n = map->n;

	while (n > 1) { /* the last start at or before the address stays among them */
		size_t half = n / 2;

		first += map->starts[first + half] <= address ? half : 0;
		n -= half;
	}
	return n && map->starts[first] <= address ? map->numbers[first] : INTERVAL_NONE;
}
