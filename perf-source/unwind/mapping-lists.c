/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "perf-source/unwind/mapping-lists.h"

/* A list's place: where it begins, how many mappings it has, and room for how many. */
struct list_place {
	uint32_t first;
	uint16_t n;
	uint16_t size_class;
};

_Static_assert(sizeof(struct list_place) == sizeof(uint64_t), "it is the value of a pair");

static uint64_t pack(struct list_place place)
{
	uint64_t value;

	memcpy(&value, &place, sizeof(value));
	return value;
}

static struct list_place unpack(uint64_t value)
{
	struct list_place place;

	memcpy(&place, &value, sizeof(place));
	return place;
}

void mapping_lists_init(struct mapping_lists *lists, struct unwind_program *program)
{
	*lists = (struct mapping_lists){ .program = program };
	pair_map_init(&lists->by_pid, UNWIND_PROCESSES_MAX);
}

void mapping_lists_deinit(struct mapping_lists *lists)
{
	pair_map_deinit(&lists->by_pid);
	for (size_t i = 0; i < MAPPING_LISTS_CLASSES; i++)
		free(lists->free[i].list);
}

bool mapping_lists_have(const struct mapping_lists *lists, uint32_t pid)
{
	return pair_map_find(&lists->by_pid, pid, 0);
}

static uint32_t room_of(uint16_t size_class)
{
	return MAPPING_LISTS_LEAST << size_class;
}

/* The oldest free place, or a new one. 0 or -ENOSPC. */
static int find_place(struct mapping_lists *lists, size_t n, struct list_place *ret)
{
	struct mapping_places *places;

	*ret = (struct list_place){ .n = n };
	while (ret->size_class < MAPPING_LISTS_CLASSES && room_of(ret->size_class) < n)
		ret->size_class++;
	if (ret->size_class == MAPPING_LISTS_CLASSES)
		return -ENOSPC;
	places = &lists->free[ret->size_class];
	if (lists->used + room_of(ret->size_class) <= UNWIND_MAPPINGS_MAX) {
		ret->first = lists->used;
		lists->used += room_of(ret->size_class);
		return 0;
	}
	if (places->first == places->n)
		return -ENOSPC;
	ret->first = places->list[places->first++];
	return 0;
}

/* Without memory a place is leaked. */
static void give_back(struct mapping_lists *lists, struct list_place place)
{
	struct mapping_places *places = &lists->free[place.size_class];

	if (places->first > places->n / 2) { /* moves those that are left */
		places->n -= places->first;
		memmove(places->list, places->list + places->first,
			places->n * sizeof(*places->list));
		places->first = 0;
	}
	if (GROWING_LIST_RESERVE(places->list, places->n_allocated, 16, places->n + 1) == 0)
		places->list[places->n++] = place.first;
}

static bool is_same(const struct mapping_lists *lists, struct list_place place,
		    const struct unwind_mapping *mappings, size_t n)
{
	return place.n == n &&
	       !memcmp(&lists->program->mappings[place.first], mappings, n * sizeof(*mappings));
}

/* Writes a list where nothing is read, and has the kernel read it there. 0 or -errno. */
static int publish(struct mapping_lists *lists, uint32_t pid, struct list_place place,
		   const struct unwind_mapping *mappings)
{
	const struct unwind_process process = {
		.number = ++lists->n_numbers,
		.first = place.first,
		.n = place.n,
	};

	memcpy(&lists->program->mappings[place.first], mappings, place.n * sizeof(*mappings));
	return unwind_program_set(lists->program, pid, &process);
}

int mapping_lists_set(struct mapping_lists *lists, uint32_t pid,
		      const struct unwind_mapping *mappings, size_t n)
{
	uint64_t *known = pair_map_find(&lists->by_pid, pid, 0);
	struct list_place place;
	int r;

	if (known && is_same(lists, unpack(*known), mappings, n))
		return 0;
	r = find_place(lists, n, &place);
	if (r == 0)
		r = publish(lists, pid, place, mappings);
	if (r < 0) {
		lists->n_refused++;
		mapping_lists_remove(lists, pid);
		return 0;
	}
	if (known) {
		give_back(lists, unpack(*known));
		*known = pack(place);
		return 0;
	}
	r = pair_map_add(&lists->by_pid, pid, 0, pack(place));
	if (r < 0)
		unwind_program_remove(lists->program, pid);
	return r == -ENOSPC ? 0 : r;
}

void mapping_lists_remove(struct mapping_lists *lists, uint32_t pid)
{
	uint64_t *known = pair_map_find(&lists->by_pid, pid, 0);

	if (!known)
		return;
	unwind_program_remove(lists->program, pid);
	give_back(lists, unpack(*known));
	pair_map_remove(&lists->by_pid, pid, 0);
}

void mapping_lists_share(struct mapping_lists *lists, uint32_t from, uint32_t pid)
{
	const uint64_t *known = pair_map_find(&lists->by_pid, from, 0);
	struct list_place place;

	if (!known || mapping_lists_have(lists, pid))
		return;
	place = unpack(*known);
	/* Without memory it is copied until the stream makes its list. */
	mapping_lists_set(lists, pid, &lists->program->mappings[place.first], place.n);
}

void mapping_lists_cover(struct mapping_lists *lists, uint32_t pid, uint64_t start, uint64_t end)
{
	uint64_t *known = pair_map_find(&lists->by_pid, pid, 0);
	struct list_place place;

	if (!known)
		return;
	place = unpack(*known);
	for (size_t i = 0; i < place.n; i++) {
		const struct unwind_mapping *mapping = &lists->program->mappings[place.first + i];

		if (mapping->start < end && mapping->end > start) {
			mapping_lists_remove(lists, pid);
			return;
		}
	}
}
