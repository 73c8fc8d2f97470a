/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of addresses that do not overlap, each with the stack that has mapped it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAPPED_RANGES_MAX = 1 << 16 }; /* more than a process may have (vm.max_map_count) */

struct mapped_range {
	uint64_t start, end; /* the first address behind it */
	uint32_t stack;
};

/* All zero is an empty one. */
struct mapped_ranges {
	struct mapped_range *list; /* in order */
	size_t n;
};

void mapped_ranges_deinit(struct mapped_ranges *ranges);

/* Adds one that overlaps none. 0; -ENOSPC: MAPPED_RANGES_MAX are there; -ENOMEM. */
int mapped_ranges_add(struct mapped_ranges *ranges, struct mapped_range range);

/* Takes the first one out that overlaps these addresses. false: none does. */
bool mapped_ranges_take(struct mapped_ranges *ranges, uint64_t start, uint64_t end,
			struct mapped_range *ret);
