/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the objects of V8 have their fields, as node's builds for x86-64 have them (without
 * pointer compression). Within a minor version they do not change (src/objects/ *.tq of each,
 * deoptimization-data.h, src/execution/isolate-data.h, frame-constants-x64.h).
 */
#pragma once

#include <stdint.h>

/* Offsets in bytes, but for types and kinds. */
struct v8_layout {
	uint8_t major, minor;
	/* In Isolate: the frame of what has called C++, and of what has called C without a frame of
	 * its own for that, with where it did. */
	uint16_t c_entry, fast_frame, fast_instruction;
	uint16_t shared; /* JSFunction::shared_function_info */
	/* SharedFunctionInfo: its code if it is JavaScript, its name or ScopeInfo, its Script. */
	uint16_t data, scope, script;
	uint16_t scope_names; /* ScopeInfo: where names of variables begin, */
	uint16_t scope_words; /* and the words that never change, a bit each; */
	/* Flags, of which four bits are the kind: this one of functions (enum ScopeType). */
	uint8_t scope_flags, scope_function;
	uint16_t scope_position; /* where the function begins; 0: behind the names */
	/* Code: DeoptimizationData or bytecode, table of positions, and what its name says. */
	uint16_t code_data, code_positions, code_flags, code_size;
	uint16_t code_start;  /* where it has the address of its instructions; */
	uint16_t code_head;   /* in front of those: where the address of Code is, */
	uint16_t code_within; /* or Code itself; 0: it is elsewhere */
	/* DeoptimizationData: literals, number of the optimization, its own function, inlinings. */
	uint16_t literals, optimization, own, inlinings;
	uint8_t is_own_wrapped; /* `own` leads to what has the function */
	/* Steps of the table of positions have a bit more, instead of a sign
	 * (source-position-table.cc).
	 */
	uint8_t has_shifted_steps;
	uint8_t baseline; /* CodeKind, of which the next two are the optimizing compilers' */
	uint16_t function_type, code_type; /* InstanceType */
};

/* NULL: the version is not known. */
const struct v8_layout *v8_layout_find(unsigned int major, unsigned int minor);
