/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts times of a ring's clock to CLOCK_MONOTONIC: both clocks are read at each look, and times
 * between two looks are interpolated. So the TSC's frequency need not be known.
 */
#pragma once

#include <stdint.h>

#include "common/base/clock.h"
#include "preload-source/shared/heap-ring.h"

struct time_map {
	enum heap_clock clock;
	uint64_t from, to;	 /* of the ring's clock, at the last two looks */
	uint64_t from_ns, to_ns; /* of CLOCK_MONOTONIC, at the same looks */
	uint64_t scale;		 /* nanoseconds per tick << 32 */
};

static inline uint64_t time_map_now(enum heap_clock clock)
{
#ifdef __x86_64__
	if (clock == HEAP_CLOCK_TSC)
		return __builtin_ia32_rdtsc() & HEAP_TIME_MASK;
#endif
	return clock_now(CLOCK_MONOTONIC);
}

/* Reads both clocks. */
static inline void time_map_look(struct time_map *map)
{
	map->from = map->to;
	map->from_ns = map->to_ns;
	map->to = time_map_now(map->clock);
	map->to_ns = clock_now(CLOCK_MONOTONIC);
	if (map->to > map->from)
		map->scale = ((unsigned __int128)(map->to_ns - map->from_ns) << 32) /
			     (map->to - map->from);
}

/* Converts a time up to the last look; times before the previous look are clamped to it. */
static inline uint64_t time_map_ns(const struct time_map *map, uint64_t time)
{
	uint64_t passed = time > map->from ? time - map->from : 0;

	return map->from_ns + (uint64_t)((unsigned __int128)passed * map->scale >> 32);
}

/* The TSC if the kernel itself keeps time by it, else CLOCK_MONOTONIC. */
enum heap_clock time_map_best_clock(void);
