/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols that a file has for debuggers, by name: stripped files have none. */
#pragma once

#include <gelf.h>
#include <stdbool.h>

enum { STATIC_SYMBOLS_MAX = 1 << 20 /* of a file; those behind are not found */ };

/* Finds a symbol that the file defines. */
bool static_symbol_find(Elf *elf, const char *name, GElf_Sym *ret);
