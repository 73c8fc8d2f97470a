/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pieces of memory records of V8, behind the object: what walk programs lead to, in the order
 * in which perf-source's have it. Each map says what its object is.
 */
#pragma once

#include "common/stream/memory-pieces.h"
#include "common/stream/runtime-table.h"

#define V8_ADDRESS_MASK (~7ULL) /* the other bits of a pointer say what it leads to */

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
