/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Split DWARF: the .dwo file named by a unit's skeleton in the program, or the .dwp with all of
 * them. libdw looks for these by itself, and opens any path that the program chose.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "symbolizer/dwarf/debug-files.h"

enum { DEBUG_SPLIT_PLACES = 3 }; /* paths that libdw tries */

/* The files that libdw may find, and the most bytes of DWARF that it reads for a unit then. */
struct debug_split {
	struct debug_file files[DEBUG_SPLIT_PLACES];
	size_t n_files;
	uint64_t package_size; /* of the .dwp, once for all units */
	uint64_t size;	       /* of the unit's own file */
};

/*
 * Whether libdw may look for the rest of a skeleton: each path that it tries has no file, or a
 * trusted ELF file within the limits of elf-limits.h. `fd` is of the skeleton's file, -1: none. (A
 * trusted writer who replaces such a file at that very moment can still make us wait.)
 */
bool debug_split_find(Dwarf_Die *skeleton, int fd, const struct debug_dirs *dirs,
		      struct debug_split *ret);
void debug_split_deinit(struct debug_split *split);

/* Whether libdw has opened one of these files, byte for byte: a path may have been replaced. */
bool debug_split_has_found(const struct debug_split *split, Dwarf *found);
