/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What to find out about a file's sections before libdw may read its DWARF. */
#pragma once

#include <libelf.h>
#include <stdbool.h>

#include "symbolizer/dwarf/interval-map.h"

/* Whether a file has DWARF of its functions, not only what stripping keeps. */
bool debug_sections_has_info(Elf *elf);

/*
 * Hides unused sections from libdw: locations of variables, and macros, a fifth of a file's DWARF.
 * Not for files in memory (elf-section.h).
 */
void debug_sections_hide_unread(Elf *elf);

/* The address ranges of the file's code. 0 or -ENOMEM. */
int debug_sections_code(Elf *elf, struct interval_map *ret);

/* All line programs, once libdw has decompressed them; NULL: none. */
const Elf_Data *debug_sections_lines(Elf *elf);

/* The size of the line program at an offset in `lines`. */
uint64_t debug_sections_line_program_size(const Elf_Data *lines, uint64_t offset);
