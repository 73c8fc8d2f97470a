/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executable mappings of one process: sorted by address, never overlapping. The kernel tells
 * of new mappings but not of those that go (there is no munmap event), so a new one replaces what
 * it covers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAPPING_TABLE_MAX = 65536 }; /* vm.max_map_count is 65530 by default */

struct mapping {
	uint64_t start, end; /* end: first address behind it */
	uint64_t offset;     /* of start in the image */
	uint64_t image;
	uint32_t number;
};

struct mapping_table {
	struct mapping *list;
	size_t n, n_allocated;
};

void mapping_table_deinit(struct mapping_table *table);

/*
 * Adds a mapping; what it covers of others is cut off them. 0; -EINVAL: it is empty or wraps
 * around; -ENOSPC: the table is full; -ENOMEM.
 */
int mapping_table_add(struct mapping_table *table, const struct mapping *mapping);

/* The mapping that holds an address; NULL: none does. */
const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address);

/* Removes what lies from `start` up to, not including, `end`. Errors as of mapping_table_add(). */
int mapping_table_remove(struct mapping_table *table, uint64_t start, uint64_t end);

/* Index of the first mapping that ends behind an address; n: none does. */
size_t mapping_table_behind(const struct mapping_table *table, uint64_t address);

/* Replaces all of `table` by what `from` has: a fork. 0 or -ENOMEM. */
int mapping_table_copy(struct mapping_table *table, const struct mapping_table *from);
