/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of one DWARF unit and their inlined calls, by address. The tree of DIEs is walked
 * once; then an address takes one binary search, and each outer call one step. Only what would need
 * all DIEs is kept: names and places are read on demand (debug-info.h).
 *
 * Damage or a limit costs answers, but never makes one wrong: a function whose inlined calls are
 * not all known keeps none of them, and is marked `is_cut`.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbolizer/dwarf/interval-map.h"

struct inline_limits {
	size_t n_dies;	 /* looked at per unit */
	size_t n_ranges; /* of a unit's functions and inlined calls */
	size_t depth;	 /* of nested DIEs */
};

/* Far beyond real programs, but bounded: 100 MiB for the ranges of one unit. */
extern const struct inline_limits inline_limits_usual;

struct inline_entry {
	Dwarf_Off die;	 /* a subprogram or an inlined subroutine */
	uint32_t parent; /* entry that it was inlined into; INTERVAL_NONE: a function */
	bool is_cut;	 /* a function whose inlined calls are unknown */
};

struct inline_table {
	struct inline_entry *entries; /* outer ones first */
	size_t n_entries;
	struct interval_map map;    /* an address → index of the innermost entry */
	struct interval_map shared; /* addresses in several functions */
	size_t n_cut;		    /* functions without their inlined calls */
	size_t n_refused;	    /* damaged DIEs, each with its content */
};

/*
 * Builds the table of `unit`, a unit's first DIE. The linker dropped functions that begin outside
 * of `code`. 0 or -ENOMEM; an unreadable unit has an empty table.
 */
int inline_table_init(struct inline_table *table, Dwarf_Die *unit, const struct interval_map *code,
		      const struct inline_limits *limits);
void inline_table_deinit(struct inline_table *table);

/* Bytes of memory. */
size_t inline_table_size(const struct inline_table *table);

/* The innermost call at an address; NULL: none known. */
const struct inline_entry *inline_table_find(const struct inline_table *table, uint64_t address);

/* The call that contains this inlined one; NULL: this is a function. */
static inline const struct inline_entry *inline_table_outer(const struct inline_table *table,
							    const struct inline_entry *entry)
{
	return entry->parent == INTERVAL_NONE ? NULL : &table->entries[entry->parent];
}
