/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pieces of memory records of V8, behind the object: what walk programs lead to, in the order
 * in which perf-source's have it. Each map says what its object is.
 */
#pragma once

#include "common/script/memory-pieces.h"
#include "common/script/runtime-table.h"

#define V8_ADDRESS_MASK (~7ULL) /* the other bits of a pointer say what it leads to */

/* Strings: bits of their InstanceType (src/objects/instance-type.h), and where they have what. */
enum v8_string {
	V8_STRING_NONE = 0xff80, /* one of these: it is no string */
	V8_STRING_REPRESENTATION = 7,
	V8_STRING_SEQUENTIAL = 0,
	V8_STRING_CONS = 1,
	V8_STRING_EXTERNAL = 2,
	V8_STRING_THIN = 5,
	V8_STRING_ONE_BYTE = 8,
	V8_STRING_UNCACHED = 16, /* an external one does not have the address of its text */
	V8_STRING_LENGTH_AT = 12,
	V8_STRING_TEXT_AT = 16,	  /* of a sequential one; of a thin one the string that has it, */
	V8_STRING_ACTUAL_AT = 16, /* and of a cons its first part */
	V8_STRING_OUTSIDE_AT = 24,
};

/* Of a function (SharedFunctionInfo). */
enum v8_function_piece {
	V8_FUNCTION_MAP,
	V8_FUNCTION_SCOPE, /* its ScopeInfo, */
	V8_FUNCTION_NAME,  /* which has its name, */
	V8_FUNCTION_NAME_MAP,
	V8_FUNCTION_INFERRED, /* and what the parser called a function without one */
	V8_FUNCTION_INFERRED_MAP,
	V8_FUNCTION_SCRIPT,
	V8_FUNCTION_FILE, /* the script's name, */
	V8_FUNCTION_FILE_MAP,
	V8_FUNCTION_ACTUAL, /* which may only lead to another text */
	V8_FUNCTION_ACTUAL_MAP,
	V8_FUNCTION_LAST, /* which may lead to another one, too */
	V8_FUNCTION_LAST_MAP,
	V8_FUNCTION_WORDS,  /* five of its scope, from that of its name on */
	V8_FUNCTION_SOURCE, /* identity of its script, which parts of the source have */
	V8_FUNCTION_PIECES_MAX,
};

/* Of code (Code). */
enum v8_code_piece {
	V8_CODE_MAP,
	V8_CODE_POSITIONS,  /* a table: what is executed where */
	V8_CODE_DATA,	    /* DeoptimizationData, which leads to: */
	V8_CODE_INLININGS,  /* calls that were replaced by what they call, */
	V8_CODE_FUNCTIONS,  /* the functions that they call, */
	V8_CODE_OWN,	    /* and what leads to its own function, if it does not itself */
	V8_CODE_IDENTITIES, /* of those functions */
	V8_CODE_PIECES_MAX,
};

/* The type of the object whose map a piece is. False: the map is not there. */
static inline bool v8_map_type(const struct v8_fields *fields, const struct wire_blob *map,
			       uint16_t *ret)
{
	return memory_field(map, fields->map_type, ret, sizeof(*ret));
}

/*
 * Reads the first `n` pieces of a record of an object of some size and type. False: it is another
 * one, or not all of them are there.
 */
bool v8_pieces_read(const struct v8_fields *fields, const struct wire_blob *bytes, int64_t size,
		    int64_t type, struct wire_blob *ret, size_t n);
