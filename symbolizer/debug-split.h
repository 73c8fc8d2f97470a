/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Split DWARF: what a unit's skeleton in the program names, a .dwo file or all of them in a .dwp.
 * libdw looks for these by itself, and opens whatever lies at a path that the program has chosen.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Bytes of DWARF that libdw takes in once it looks for a unit, at most. */
struct debug_split {
	uint64_t package_size; /* of the .dwp, once for all units */
	uint64_t size;	       /* of the unit's own file */
};

/*
 * Whether libdw may look for the rest of a skeleton: at each path that it tries is an ELF file
 * within the limits of elf-limits.h, or nothing. `fd` is of the skeleton's file, -1: it has none.
 * (Who may replace one of these files at that very moment can make us wait for it still.)
 */
bool debug_split_find(Dwarf_Die *skeleton, int fd, struct debug_split *ret);
