/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Locations whose code changes: memory of JIT compilers. Their names may come long after the stacks
 * that they are in, because compilers write their files late. So stacks get a provisional name, and
 * a new one whenever the location's name changes.
 */
#pragma once

#include <stdint.h>

#include "common/base/pair-map.h"

enum { TIMED_PLACES_MAX = 1 << 20 };

/* Frames of one location have separate names by how the caller was found. */
enum timed_step {
	TIMED_STEP_PROVED,
	TIMED_STEP_UNPROVED, /* enum wire_frame_flags, FRAME_POINTER */
	TIMED_STEPS,
};

struct timed_name {
	uint64_t first;	      /* time of the first stack with the provisional name */
	uint32_t provisional; /* 0: no stack has used it since the location's last name came */
	uint32_t meaning;     /* of the provisional name, or of the next one */
};

struct timed_place {
	struct timed_name names[TIMED_STEPS];
	uint32_t next_free; /* of a free entry: the next free one's index + 1 */
};

struct timed_places {
	struct pair_map by_place; /* (image, offset) → index of `list` */
	struct timed_place *list;
	size_t n;
	uint32_t free; /* index + 1 of the first free entry; 0: none */
};

void timed_places_init(struct timed_places *places);
void timed_places_deinit(struct timed_places *places);

/* The entry of (image, offset), added if it is new; NULL: limit reached, or no memory. */
struct timed_place *timed_places_get(struct timed_places *places, uint64_t image, uint64_t offset);

/* Forgets locations of images that have ended. Does so only now and then. */
void timed_places_forget_ended(struct timed_places *places,
			       bool (*is_living)(uint64_t image, uint64_t offset, uint64_t index,
						 void *arg),
			       void *arg);
