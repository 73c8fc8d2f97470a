/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Demangles C++, Rust and D names. */
#pragma once

#include <stddef.h>

enum {
	/* Longer names stay mangled: the work may grow with the square of the length, or worse. */
	DEMANGLE_INPUT_MAX = 2048,
};

/*
 * The demangled name, cut and marked if long (common/base/long-name.h), to be freed by the caller;
 * NULL: not mangled, or too long to demangle.
 */
char *demangle(const char *name);
