/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What compiled code of HotSpot executes where: calls in it were replaced by what they call. */
#pragma once

#include <stdbool.h>

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"

enum {
	HOTSPOT_SCOPES_MAX = 64,	 /* one inside of the other, at one place */
	HOTSPOT_BYTECODES_MAX = 1 << 16, /* bytes of a method */
};

/* The object of the code (nmethod), by its address and what it was. */
struct hotspot_code {
	const struct hotspot_fields *fields;
	const struct code_table *codes;
	uint64_t process, address, identity;
};

/* What is known of an instruction. */
enum hotspot_at {
	HOTSPOT_AT_ANY,		   /* it is executed */
	HOTSPOT_AT_CALL,	   /* a call returns to it; what is called may note nothing */
	HOTSPOT_AT_CALL_OF_METHOD, /* a method returns to it */
};

/* A method, and where in it: the number of the bytecode, from 1 on; 0: not known. */
struct hotspot_scope {
	uint64_t method, identity;
	uint64_t place;
};

/*
 * Finds the methods that are executed at an instruction, innermost first: the last one is that of
 * the code. Compilers describe calls, but other instructions only if they are told to: of those
 * without a description only the code's own method is known. That is all for the innermost frame.
 * A caller of a method has a description, or is code in which nothing is inlined; if the
 * description cannot be read, the caller is not known, as methods would be missing between two
 * that are there. Code for rare cases is not known: where it is returned to, the code is left for
 * good, whatever was inlined there. Returns their number; -1: not known.
 */
int hotspot_code_find(const struct hotspot_code *code, uint64_t pc, enum hotspot_at at,
		      struct hotspot_scope ret[HOTSPOT_SCOPES_MAX]);
