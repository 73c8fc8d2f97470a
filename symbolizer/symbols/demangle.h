/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of C++, Rust and D as people write them. */
#pragma once

#include <stddef.h>

enum {
	DEMANGLE_INPUT_MAX = 2048, /* a longer name stays as it is: the work can grow with its
				      square, and worse */
};

/*
 * The demangled name, cut and marked if it is long (common/base/long-name.h), which the caller
 * frees; NULL: it is not mangled, or is too long to be demangled.
 */
char *demangle(const char *name);
