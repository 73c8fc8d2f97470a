/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What optimized code of V8 executes where: calls in it were replaced by what they call. */
#pragma once

#include <stdbool.h>

#include "common/script/memory-pieces.h"
#include "common/script/runtime-table.h"

enum { V8_CALLS_MAX = 64 /* one inside of the other, at one place */ };

/* A record of code, as views of its bytes. */
struct v8_code {
	uint64_t start, length;
	uint8_t kind;
	uint64_t data; /* address of DeoptimizationData, or of bytecode */
	uint64_t own;  /* of the function that it was made of; 0: not known */
	struct wire_blob positions, inlinings, functions, identities;
	size_t n_functions; /* that are inlined */
};

/* A function that optimized code has inlined. */
struct v8_inlined {
	uint64_t address, identity;
};

/* Whether a record, of what is at an address, is one of code, which is whole. */
bool v8_code_read(const struct v8_fields *fields, uint64_t address, const struct wire_blob *bytes,
		  struct v8_code *ret);

/*
 * Finds the inlined functions that are executed at an offset of optimized code, innermost first:
 * the last of them was called by the code's own. Returns their number; -1: not known.
 */
int v8_code_find_inlined(const struct v8_fields *fields, const struct v8_code *code,
			 uint64_t offset, struct v8_inlined ret[V8_CALLS_MAX]);
