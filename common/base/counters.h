/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Named counters in groups: dropped samples by reason, stacks by end reason, things refused. A
 * counter never moves, so hot paths may keep its address.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { COUNTERS_MAX = 4096 }; /* the last, "refused: further-counts", takes all further names */

struct counter {
	const char *group; /* a literal */
	const char *name;
	uint64_t value;
};

struct counters {
	struct counter **list; /* in order of first use */
	size_t n;
	struct counter_entry *by_name;
	struct counter without_memory;
};

void counters_deinit(struct counters *counters);

/* Returns the counter of that name, 0 at first; without memory an unlisted one, never NULL. */
uint64_t *counters_get(struct counters *counters, const char *group, const char *name);
