/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of one DWARF unit, and the calls that were inlined into them, by address. The tree
 * of DIEs is walked once; then an address is one binary search, and each outer call one step up.
 * Only what all DIEs would have to be asked for is kept: names and places are read when they are
 * needed (debug-info.h).
 *
 * What is damaged or beyond a limit costs answers, but never makes one wrong: a function whose
 * inlined calls are not all known keeps none of them, and says so.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbolizer/dwarf/interval-map.h"

struct inline_limits {
	size_t n_dies;	 /* looked at, of a unit */
	size_t n_ranges; /* of a unit's functions and inlined calls */
	size_t depth;	 /* of DIEs in each other */
};

/* Far beyond what programs have, and still bounded: 100 MiB for the ranges of one unit. */
extern const struct inline_limits inline_limits_usual;

struct inline_entry {
	Dwarf_Off die;	 /* a subprogram or an inlined subroutine */
	uint32_t parent; /* the one that it was inlined into; INTERVAL_NONE: it is a function */
	bool is_cut;	 /* a function: what was inlined into it is not known */
};

struct inline_table {
	struct inline_entry *entries; /* from the outside in */
	size_t n_entries;
	struct interval_map map;    /* an address → index of the innermost entry */
	struct interval_map shared; /* addresses of more than one function */
	size_t n_cut;		    /* functions without their inlined calls */
	size_t n_refused;	    /* DIEs with all that is in them, as they are damaged */
};

/*
 * Makes the table of `unit`, a unit's first DIE. What begins outside of `code` is of a function
 * that the linker dropped. 0 or -ENOMEM; of a unit that cannot be read it is empty.
 */
int inline_table_init(struct inline_table *table, Dwarf_Die *unit, const struct interval_map *code,
		      const struct inline_limits *limits);
void inline_table_deinit(struct inline_table *table);

/* Bytes that it takes. */
size_t inline_table_size(const struct inline_table *table);

/* The innermost call that an address belongs to; NULL: none is known. */
const struct inline_entry *inline_table_find(const struct inline_table *table, uint64_t address);

/* The call that this one was inlined into; NULL: it is a function. */
static inline const struct inline_entry *inline_table_outer(const struct inline_table *table,
							    const struct inline_entry *entry)
{
	return entry->parent == INTERVAL_NONE ? NULL : &table->entries[entry->parent];
}
