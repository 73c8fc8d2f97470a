/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the clock of a ring's records to CLOCK_MONOTONIC: both are read at each look, and what lies
 * between two looks is interpolated. So nothing has to be known of the processor's frequency.
 */
#pragma once

#include <stdint.h>

#include "common/base/clock.h"
#include "preload-source/shared/heap-ring.h"

struct time_map {
	enum heap_clock clock;
	uint64_t from, to;	 /* of the ring's clock, at the last two looks */
	uint64_t from_ns, to_ns; /* of CLOCK_MONOTONIC, at the same */
	uint64_t scale;		 /* nanoseconds a tick << 32 */
};

static inline uint64_t time_map_now(enum heap_clock clock)
{
#ifdef __x86_64__
	if (clock == HEAP_CLOCK_TSC)
		return __builtin_ia32_rdtsc() & HEAP_TIME_MASK;
#endif
	return clock_now(CLOCK_MONOTONIC);
}

/* A new look. */
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

/* Of a time at or before the last look; what is older than the one before is of that one. */
static inline uint64_t time_map_ns(const struct time_map *map, uint64_t time)
{
	uint64_t passed = time > map->from ? time - map->from : 0;

	return map->from_ns + (uint64_t)((unsigned __int128)passed * map->scale >> 32);
}

/* What the machine has: whether the kernel itself keeps time by the processor's counter. */
enum heap_clock time_map_best_clock(void);
