/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "symbolizer/demangle.h"

/*
 * Rust's older mangling is C++'s with a hash behind it: "17h" and 16 hexadecimal digits, "E".
 * c++filt's own guess would take it for C++.
 */
static bool is_legacy_rust(const char *name, size_t size)
{
	const char *hash = name + size - 20;

	if (size < 24 || strncmp(hash, "17h", 3) || name[size - 1] != 'E')
		return false;
	for (size_t i = 3; i < 19; i++)
		if (!isxdigit((unsigned char)hash[i]))
			return false;
	return true;
}

char *demangle(const char *name)
{
	size_t size = strnlen(name, DEMANGLE_INPUT_MAX + 1);
	char *text = NULL;

	if (size > DEMANGLE_INPUT_MAX || name[0] != '_')
		return NULL;
	/* Each demangler limits its recursion by itself (DMGL_NO_RECURSE_LIMIT is not given). */
	if (name[1] == 'R' || (name[1] == 'Z' && is_legacy_rust(name, size)))
		text = rust_demangle(name, DMGL_PARAMS | DMGL_ANSI);
	else if (name[1] == 'Z')
		text = cplus_demangle_v3(name, DMGL_PARAMS | DMGL_ANSI);
	else if (name[1] == 'D' && isdigit((unsigned char)name[2]))
		text = dlang_demangle(name, DMGL_PARAMS | DMGL_ANSI);
	if (text && strlen(text) > DEMANGLE_OUTPUT_MAX)
		text[DEMANGLE_OUTPUT_MAX] = 0;
	return text;
}
