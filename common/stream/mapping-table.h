/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executable mappings of one address space: sorted by address, never overlapping. The kernel
 * reports new mappings but no munmap(2), so a new mapping replaces what it covers.
 *
 * A table is an index of chunks, both copied on write. A change makes a new chunk and, if the index
 * is shared, a new index; everything else stays shared. So a copy is free at any size, and a fork
 * that changes one mapping of 60,000 costs one chunk and one index.
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
	uint64_t start, end; /* end: first address behind the mapping */
	uint64_t offset;     /* of start in the image */
	uint64_t image;
	uint32_t number;
};

/* The memory that all tables of one owner take together. */
struct mapping_pool {
	size_t n_bytes;
};

struct mapping_table {
	struct mapping_index *index; /* NULL: empty */
	size_t n;
	struct mapping_pool *pool; /* NULL: not counted; the same for all copies of a table */
};

/* A table that is always empty. */
extern const struct mapping_table mapping_table_empty;

void mapping_table_deinit(struct mapping_table *table);

/*
 * Adds a mapping and cuts what it covers off others. 0; -EINVAL: empty or wraps around; -ENOSPC:
 * the table is full; -ENOMEM. On error the table is unchanged.
 */
int mapping_table_add(struct mapping_table *table, const struct mapping *mapping);

/* Removes the range [start, end). Errors as of mapping_table_add(). */
int mapping_table_remove(struct mapping_table *table, uint64_t start, uint64_t end);

/* Pointers that these three return are valid until the next change of the table. */

/* The mapping that contains an address, or NULL. */
const struct mapping *mapping_table_find(const struct mapping_table *table, uint64_t address);

/* The first mapping that ends behind an address, or NULL. */
const struct mapping *mapping_table_next(const struct mapping_table *table, uint64_t address);

/* The last mapping that ends at an address or before it, or NULL. */
const struct mapping *mapping_table_previous(const struct mapping_table *table, uint64_t address);

/* Iterates over all mappings in order. The table must not change meanwhile. */
#define MAPPING_TABLE_EACH(mapping, table)                                                         \
	for (const struct mapping *mapping = mapping_table_next(table, 0); mapping;                \
	     mapping = mapping_table_next(table, mapping->end))

/*
 * Whether `is` holds for any mapping; it is called for every mapping. A chunk or index that several
 * tables share is examined once for each `question`: a nonzero number, unique within the pool.
 */
bool mapping_table_any(const struct mapping_table *table, uint64_t question,
		       bool (*is)(const struct mapping *mapping, void *arg), void *arg);

/* Makes `table` a copy of `from`, as fork does. No mapping is copied. */
void mapping_table_share(struct mapping_table *table, const struct mapping_table *from);

/* Bytes that a table takes; memory shared with other tables counts in proportion. */
size_t mapping_table_memory(const struct mapping_table *table);
