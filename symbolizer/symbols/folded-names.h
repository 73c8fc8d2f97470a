/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkers fold functions with identical code into one (gold and lld --icf, mold --icf). It keeps
 * all of their names, and nothing shows which was called. Several names may also be one's aliases.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symbolizer/symbols/symbol-table.h"

enum { FOLDED_NAMES_MAX = 256 }; /* per address; further ones are ignored */

/*
 * Fills `ret` with the names of other functions folded into the first of `n` symbols at one
 * address, and returns their number: below FOLDED_NAMES_MAX. None in a library with symbol
 * versions, whose interface has aliases (libstdc++ has one of std::ios_base::Init::Init()). C
 * symbols of equal size and binding are other functions, except weak ones, which are made as
 * aliases (ld(1)), and names with a leading underscore, which belong to a C library (C23, 7.1.3:
 * __libc_malloc is malloc). C++ symbols may be weak, as all inline functions and templates are.
 * Names that differ in the kind of a constructor or destructor (Itanium C++ ABI, 5.1.4.3), or in
 * Rust's hash, are one function's.
 */
size_t folded_names_find(const struct symbol *symbols, size_t n, bool has_versions,
			 const char *ret[FOLDED_NAMES_MAX]);

/* Whether two names are one function's in that sense. */
bool folded_names_are_same(const char *a, const char *b);
