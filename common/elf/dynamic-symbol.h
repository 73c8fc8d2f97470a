/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols that a file exports, by name. */
#pragma once

#include <gelf.h>
#include <stdbool.h>

enum { DYNAMIC_SYMBOLS_MAX = 1 << 20 /* of a file; those behind are not found */ };

/*
 * Finds a dynamic symbol that the file defines: by its hash table (DT_GNU_HASH; glibc,
 * elf/dl-lookup.c), as its loader does, or one after the other without one.
 */
bool dynamic_symbol_find(Elf *elf, const char *name, GElf_Sym *ret);
