/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkers fold functions with the same code into one (gold and lld --icf, mold --icf): it keeps all
 * of their names, and nothing tells which of them was called. Other functions have several names,
 * too, and are still one: aliases.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symbolizer/symbols/symbol-table.h"

enum { FOLDED_NAMES_MAX = 256 }; /* of one address: further ones are not looked at */

/*
 * Fills `ret` with the other functions that were folded into the first of `n` symbols of one
 * address, and returns how many there are: fewer than FOLDED_NAMES_MAX, and none in a
 * library whose symbols have versions, which are its interface, with aliases (libstdc++ has one of
 * std::ios_base::Init::Init()). Of C those of the same size and binding are other functions, but
 * weak ones, which are made to be aliases (ld(1)), and names that begin with an underscore, which
 * are a C library's own (C23, 7.1.3: __libc_malloc is malloc); of C++ weak ones, too, as all inline
 * functions and templates are. Names that differ in the kind of a constructor or destructor
 * (Itanium C++ ABI, 5.1.4.3), or in Rust's hash, are one function's.
 */
size_t folded_names_find(const struct symbol *symbols, size_t n, bool has_versions,
			 const char *ret[FOLDED_NAMES_MAX]);

/* Whether two names are one function's in that sense. */
bool folded_names_are_same(const char *a, const char *b);
