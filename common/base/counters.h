/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Named counts in groups: what was dropped and why, how stacks ended, what was refused. A count
 * that is asked for stays where it is, so that hot paths keep its address.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { COUNTERS_MAX = 4096 }; /* the last one, "refused: further-counts", takes all further names */

struct counter {
	const char *group; /* a literal */
	const char *name;
	uint64_t value;
};

struct counters {
	struct counter **list; /* in the order of their first use */
	size_t n;
	struct counter_entry *by_name;
	struct counter without_memory;
};

void counters_deinit(struct counters *counters);

/* The count of that name, 0 at first; never NULL. */
uint64_t *counters_get(struct counters *counters, const char *group, const char *name);
