/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Split DWARF: what a unit's skeleton in the program names, a .dwo file or all of them in a .dwp.
 * libdw looks for these by itself, and opens whatever lies at a path that the program has chosen.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbolizer/dwarf/debug-files.h"

enum { DEBUG_SPLIT_PLACES = 3 }; /* where libdw looks */

/* What libdw may find, and bytes of DWARF that it takes in once it looks for a unit, at most. */
struct debug_split {
	struct debug_file files[DEBUG_SPLIT_PLACES];
	size_t n_files;
	uint64_t package_size; /* of the .dwp, once for all units */
	uint64_t size;	       /* of the unit's own file */
};

/*
 * Whether libdw may look for the rest of a skeleton: at each path that it tries is an ELF file
 * that is believed and within the limits of elf-limits.h, or nothing. `fd` is of the skeleton's
 * file, -1: it has none. (Who may replace one of these files at that very moment can make us wait
 * for it still.)
 */
bool debug_split_find(Dwarf_Die *skeleton, int fd, const struct debug_dirs *dirs,
		      struct debug_split *ret);
void debug_split_deinit(struct debug_split *split);

/*
 * Whether what libdw has found is one of the files, byte for byte: another one may have come to
 * its path since.
 */
bool debug_split_has_found(const struct debug_split *split, Dwarf *found);
