/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "common/cleanup.h"
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

/* A name on its way out of a demangler. */
struct result {
	char text[DEMANGLE_OUTPUT_MAX + 1];
	size_t size;
	jmp_buf full;
};

/*
 * A name can double its length with each few letters, and a demangler cannot be told to stop. It
 * holds no memory while it prints, so it is left by a jump.
 */
static void take_piece(const char *piece, size_t size, void *arg)
{
	struct result *result = arg;
	size_t room = DEMANGLE_OUTPUT_MAX - result->size;

	memcpy(result->text + result->size, piece, size < room ? size : room);
	result->size += size < room ? size : room;
	if (size >= room)
		longjmp(result->full, 1);
}

static bool run(const char *name, int (*demangler)(const char *, int, demangle_callbackref, void *),
		struct result *result)
{
	/* Each demangler limits its recursion by itself (DMGL_NO_RECURSE_LIMIT is not given). */
	if (setjmp(result->full) == 0 &&
	    !demangler(name, DMGL_PARAMS | DMGL_ANSI, take_piece, result))
		return false;
	result->text[result->size] = 0;
	return true;
}

/* D's demangler has no such way out, but its result only grows with the square of the name. */
static bool run_d(const char *name, struct result *result)
{
	_cleanup_free_ char *text = dlang_demangle(name, DMGL_PARAMS | DMGL_ANSI);

	if (text)
		snprintf(result->text, sizeof(result->text), "%s", text);
	return text;
}

char *demangle(const char *name)
{
	size_t size = strnlen(name, DEMANGLE_INPUT_MAX + 1);
	struct result result = { .size = 0 };
	bool is_mangled = false;

	if (size > DEMANGLE_INPUT_MAX || name[0] != '_')
		return NULL;
	if (name[1] == 'R' || (name[1] == 'Z' && is_legacy_rust(name, size)))
		is_mangled = run(name, rust_demangle_callback, &result);
	else if (name[1] == 'Z')
		is_mangled = run(name, cplus_demangle_v3_callback, &result);
	else if (name[1] == 'D' && isdigit((unsigned char)name[2]))
		is_mangled = run_d(name, &result);
	return is_mangled ? strdup(result.text) : NULL;
}
