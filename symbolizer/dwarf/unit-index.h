/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The units of a file's DWARF with code, by address. Where several claim an address (under GNU ld,
 * all that had a copy of an inline function), the first in the file is used, as in other tools.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbolizer/dwarf/interval-map.h"

struct unit_limits {
	size_t n_units, n_ranges;
};

struct unit_index {
	Dwarf_CU **units; /* that may have code, last in the file first */
	size_t n_units;
	struct interval_map map;    /* an address → index in `units` */
	struct interval_map shared; /* addresses claimed by several units */
	size_t n_units_refused, n_ranges_refused;
};

/* The linker dropped ranges that begin outside of `code`. 0 or -ENOMEM. */
int unit_index_init(struct unit_index *index, Dwarf *dwarf, const struct interval_map *code,
		    const struct unit_limits *limits);
void unit_index_deinit(struct unit_index *index);
