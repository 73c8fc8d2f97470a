/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Linkers fold functions with the same code into one (gold and lld --icf, mold --icf): it keeps all
 * of their names, and nothing tells which of them was called. Other functions have several names,
 * too, and are still one: aliases.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symbolizer/symbol-table.h"

/*
 * How many other functions were folded into the first of `n` symbols of one address; none in a
 * library whose symbols have versions, which are its interface, with aliases (libstdc++ has one of
 * std::ios_base::Init::Init()). Of C those of the same size and binding are other functions, but
 * weak ones, which are made to be aliases (ld(1)), and names that begin with an underscore, which
 * are a C library's own (C23, 7.1.3: __libc_malloc is malloc); of C++ weak ones, too, as all inline
 * functions and templates are. Names that differ in the kind of a constructor or destructor
 * (Itanium C++ ABI, 5.1.4.3), or in Rust's hash, are one function's.
 */
size_t folded_names_count(const struct symbol *symbols, size_t n, bool has_versions);
