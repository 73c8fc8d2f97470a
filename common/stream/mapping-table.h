/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executable mappings of one address space: sorted by address, never overlapping. The kernel
 * tells of new mappings but not of those that go (there is no munmap event), so a new one replaces
 * what it covers.
 *
 * A table is an index of chunks. A change makes a new chunk and, if others have the index, too, a
 * new one of these, and the rest is shared with whoever has it. So a copy costs nothing however
 * large the table is, and a fork that changes one mapping of 60,000 costs one chunk and one index.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MAPPING_TABLE_MAX = 65536, /* vm.max_map_count is 65530 by default */
	MAPPING_CHUNK_MAX = 128,   /* mappings: 5 KiB */
};

struct mapping {
	uint64_t start, end; /* end: first address behind it */
	uint64_t offset;     /* of start in the image */
	uint64_t image;
	uint32_t number;
};

/* What all tables of one owner take together. */
struct mapping_pool {
	size_t n_bytes;
};

struct mapping_table {
	struct mapping_index *index; /* NULL: empty */
	size_t n;
	struct mapping_pool *pool; /* NULL: nobody counts; the same for all copies of a table */
};

/* One that never has anything. */
extern const struct mapping_table mapping_table_empty;

void mapping_table_deinit(struct mapping_table *table);

/*
 * Adds a mapping; what it covers of others is cut off them. 0; -EINVAL: it is empty or wraps
 * around; -ENOSPC: the table is full; -ENOMEM. The table is as it was if it is not 0.
 */
int mapping_table_add(struct mapping_table *table, const struct mapping *mapping);

/* Removes what lies from `start` up to, not including, `end`. Errors as of mapping_table_add(). */
int mapping_table_remove(struct mapping_table *table, uint64_t start, uint64_t end);

/* What these three return is void after the next change of the table. */

/* The mapping that holds an address; NULL: none does. */
const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address);

/* The first mapping that ends behind an address; NULL: none does. */
const struct mapping *mapping_table_next(const struct mapping_table *table, uint64_t address);

/* The last mapping that ends at an address or before it; NULL: none does. */
const struct mapping *mapping_table_previous(const struct mapping_table *table, uint64_t address);

/* All mappings in order. The table is not to be changed meanwhile. */
#define MAPPING_TABLE_EACH(mapping, table)                                                         \
	for (const struct mapping *mapping = mapping_table_next(table, 0); mapping;                \
	     mapping = mapping_table_next(table, mapping->end))

/*
 * Whether any mapping of a table is as `is` says, which is called for each of them. What several
 * tables share is looked at once under one `question`: a number other than 0 that no two questions
 * of one pool have.
 */
bool mapping_table_any(const struct mapping_table *table, uint64_t question,
		       bool (*is)(const struct mapping *mapping, void *arg), void *arg);

/* Replaces all of `table` by what `from` has: a fork. Nothing is copied. */
void mapping_table_share(struct mapping_table *table, const struct mapping_table *from);

/* What a table takes: of what it shares with others, its part. Bytes. */
size_t mapping_table_memory(const struct mapping_table *table);
