/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "common/base/cleanup.h"
#include "common/base/long-name.h"
#include "symbolizer/symbols/demangle.h"

/* Rust's legacy mangling is C++'s and a hash ("17h", 16 hex digits, "E"); c++filt guesses C++. */
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

/* The output of a demangler. */
struct result {
	char text[LONG_NAME_MAX + 1];
	size_t size;
	uint64_t hash; /* of the mangled name: distinguishes cut names */
	jmp_buf full;
};

/*
 * A name can double its length every few letters, and a demangler cannot be stopped. It owns no
 * memory while it prints, so longjmp() may leave it.
 */
static void take_piece(const char *piece, size_t size, void *arg)
{
	struct result *result = arg;
	size_t room = LONG_NAME_MAX - result->size;

	memcpy(result->text + result->size, piece, size < room ? size : room);
	result->size += size < room ? size : room;
	if (size <= room)
		return;
	result->size = long_name_mark(result->text, result->size, result->hash);
	longjmp(result->full, 1);
}

static bool run(const char *name, int (*demangler)(const char *, int, demangle_callbackref, void *),
		struct result *result)
{
	/* Each demangler limits its own recursion (DMGL_NO_RECURSE_LIMIT is not given). */
	if (setjmp(result->full) == 0 &&
	    !demangler(name, DMGL_PARAMS | DMGL_ANSI, take_piece, result))
		return false;
	result->text[result->size] = 0;
	return true;
}

/* D's demangler has no callback, but its result grows only with the square of the name. */
static int run_d(const char *name, int options, demangle_callbackref take, void *arg)
{
	_cleanup_free_ char *text = dlang_demangle(name, options);
	char room[LONG_NAME_MAX + 1];
	const char *fitting;

	if (!text)
		return false;
	fitting = long_name_fit(text, 0, room);
	take(fitting, strlen(fitting), arg);
	return true;
}

char *demangle(const char *name)
{
	size_t size = strnlen(name, DEMANGLE_INPUT_MAX + 1);
	struct result result = { .hash = long_name_hash(name, size, 0) };
	bool is_mangled = false;

	if (size > DEMANGLE_INPUT_MAX || name[0] != '_')
		return NULL;
	if (name[1] == 'R' || (name[1] == 'Z' && is_legacy_rust(name, size)))
		is_mangled = run(name, rust_demangle_callback, &result);
	else if (name[1] == 'Z')
		is_mangled = run(name, cplus_demangle_v3_callback, &result);
	else if (name[1] == 'D' && isdigit((unsigned char)name[2]))
		is_mangled = run(name, run_d, &result);
	return is_mangled ? strdup(result.text) : NULL;
}
