/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must be known of a file's sections before libdw may read its DWARF. */
#pragma once

#include <libelf.h>
#include <stdbool.h>

#include "symbolizer/dwarf/interval-map.h"

/* Whether a file has DWARF of its functions, and not only what a stripped one keeps. */
bool debug_sections_has_info(Elf *elf);

/*
 * Hides from libdw what nobody here reads: where variables lie, and macros. They are a fifth of a
 * file's DWARF. Not of a file in memory (elf-section.h).
 */
void debug_sections_hide_unread(Elf *elf);

/* Where the file has code. 0 or -ENOMEM. */
int debug_sections_code(Elf *elf, struct interval_map *ret);

/* The line programs, once libdw has decompressed them; NULL: there are none. */
const Elf_Data *debug_sections_lines(Elf *elf);

/* The size of the line program at an offset of these. */
uint64_t debug_sections_line_program_size(const Elf_Data *lines, uint64_t offset);
