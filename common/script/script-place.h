/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where frames of interpreters' languages are: in one image for each language, which all processes
 * share, mapped behind all user addresses. A place is the number of the code (a `memory` record has
 * it), and where in that code, as its language counts: instructions of CPython, from 1 on (0:
 * before the first), words of Ruby's code, or lines; those of V8 are not told apart.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The places of images in a stream depend on the order. */
enum script_language {
	SCRIPT_CPYTHON,
	SCRIPT_PHP,
	SCRIPT_V8,
	SCRIPT_RUBY,
	SCRIPT_HOTSPOT,
	SCRIPT_PERL,
	SCRIPT_LUA,
	SCRIPT_BEAM,
	SCRIPT_LUAJIT,
	SCRIPT_DOTNET,
	SCRIPT_LANGUAGES_MAX,
};

enum { SCRIPT_INSTRUCTION_BITS = 24 };

#define SCRIPT_START (1ULL << 62)
#define SCRIPT_SIZE (1ULL << 58) /* of each image */
#define SCRIPT_END (SCRIPT_START + SCRIPT_LANGUAGES_MAX * SCRIPT_SIZE)
#define SCRIPT_NUMBERS_MAX (SCRIPT_SIZE >> SCRIPT_INSTRUCTION_BITS)
#define SCRIPT_INSTRUCTIONS_MAX (1ULL << SCRIPT_INSTRUCTION_BITS)
#define SCRIPT_INSTRUCTION_UNKNOWN (SCRIPT_INSTRUCTIONS_MAX - 1) /* nobody knows where */

/* The path of a language's image: its name, as runtime records have it, in brackets. */
const char *script_path(enum script_language language);

/* What OpenTelemetry calls frames of a language (semantic conventions: profile.frame.type). */
const char *script_frame_type(enum script_language language);

/* The language of an image's path, or of a runtime's name; SCRIPT_LANGUAGES_MAX: it is none. */
enum script_language script_language_of_path(const char *path);
enum script_language script_language_of_name(const char *name, size_t size);

/* Where a language's image is mapped. */
static inline uint64_t script_start(enum script_language language)
{
	return SCRIPT_START + language * SCRIPT_SIZE;
}

/* Whether an address is a place: that of the instruction itself, in all frames. */
static inline bool script_has(uint64_t address)
{
	return address >= SCRIPT_START && address < SCRIPT_END;
}

/* The language of an address that is a place. */
static inline enum script_language script_language_of(uint64_t address)
{
	return (address - SCRIPT_START) / SCRIPT_SIZE;
}

/* The offset of a place in its image. */
static inline uint64_t script_place(uint64_t number, uint64_t instruction)
{
	return number << SCRIPT_INSTRUCTION_BITS | instruction;
}

static inline uint64_t script_place_number(uint64_t place)
{
	return place >> SCRIPT_INSTRUCTION_BITS;
}

static inline uint64_t script_place_instruction(uint64_t place)
{
	return place & (SCRIPT_INSTRUCTIONS_MAX - 1);
}
