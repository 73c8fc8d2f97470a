/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places whose code comes and goes: memory of JIT compilers. What such a place is called since when
 * may be told long after the stacks that it is in, because compilers write their files late. So a
 * stack gets a provisional name for it, one each time that the place is called otherwise.
 */
#pragma once

#include <stdint.h>

#include "common/base/pair-map.h"

enum { TIMED_PLACES_MAX = 1 << 20 };

/* Frames of one place are named apart by how their caller was found. */
enum timed_step {
	TIMED_STEP_PROVED,
	TIMED_STEP_UNPROVED, /* enum wire_frame_flags, FRAME_POINTER */
	TIMED_STEPS,
};

struct timed_name {
	uint64_t first;	      /* time of the first stack with the provisional name */
	uint32_t provisional; /* 0: no stack has had it since the place's last name came */
	uint32_t meaning;     /* of the provisional name, or of the next one */
};

struct timed_place {
	struct timed_name names[TIMED_STEPS];
	uint32_t next_free; /* of a place that is free: the next one's index + 1 */
};

struct timed_places {
	struct pair_map by_place; /* (image, offset) → index of `list` */
	struct timed_place *list;
	size_t n;
	uint32_t free; /* index + 1 of the first that is free, 0: none */
};

void timed_places_init(struct timed_places *places);
void timed_places_deinit(struct timed_places *places);

/* The one at (image, offset), which is new if it was not known; NULL: no room or memory for it. */
struct timed_place *timed_places_get(struct timed_places *places, uint64_t image, uint64_t offset);

/* Now and then: forgets those of images that are not living. */
void timed_places_forget_ended(struct timed_places *places,
			       bool (*is_living)(uint64_t image, uint64_t offset, uint64_t index,
						 void *arg),
			       void *arg);
