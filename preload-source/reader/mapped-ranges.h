/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disjoint ranges of addresses, each with the stack that mapped it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAPPED_RANGES_MAX = 1 << 16 }; /* above the default of vm.max_map_count */

struct mapped_range {
	uint64_t start, end; /* end: exclusive */
	uint32_t stack;
};

/* Empty if all zero. */
struct mapped_ranges {
	struct mapped_range *list; /* by address */
	size_t n;
};

void mapped_ranges_deinit(struct mapped_ranges *ranges);

/* Adds a range that overlaps none. 0; -ENOSPC: MAPPED_RANGES_MAX reached; -ENOMEM. */
int mapped_ranges_add(struct mapped_ranges *ranges, struct mapped_range range);

/* Removes the first range that overlaps these addresses; false: none does. */
bool mapped_ranges_take(struct mapped_ranges *ranges, uint64_t start, uint64_t end,
			struct mapped_range *ret);
