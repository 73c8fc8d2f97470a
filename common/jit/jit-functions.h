/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that a JIT compiler has made, and where each was at which time: from when it was
 * put there until other code covers it, or it is moved.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/name-store.h"
#include "common/jit/code-history.h"
#include "common/jit/jit-lines.h"

enum { JIT_PIECES_MAX = 1 << 18 }; /* placed functions, and places that a move left */

struct jit_function {
	uint64_t start, size; /* first address; a move keeps the size */
	uint64_t index;	      /* the compiler's number (code_index) */
	uint64_t code_at;     /* file offset of its code; 0: unknown */
	uint32_t name;
	uint32_t first_line, n_lines;
};

/* The function that is at a range of code since a time. */
struct jit_piece {
	uint64_t time;
	uint32_t function;
};

struct jit_functions {
	struct code_history history;
	struct jit_piece *pieces; /* parallel to `history.pieces`; times never decrease */
	struct jit_function *list;
	size_t n;
	struct jit_lines lines;
	struct name_store names;
};

/* A function to be added. */
struct jit_load {
	uint64_t start, size, index, time;
	uint64_t code_at;
	const char *name;
	size_t name_size;
};

struct jit_move {
	uint64_t from, to, size, index, time;
};

/* A function at one of its addresses. */
struct jit_code {
	uint64_t start, size;
	const char *name; /* unescaped, may be empty; valid until more is added */
	size_t piece;	  /* its number, the same until other code is put there */
	const struct jit_function *function;
};

struct jit_place {
	const char *file; /* unescaped */
	uint32_t line, column;
};

void jit_functions_init(struct jit_functions *functions);
void jit_functions_deinit(struct jit_functions *functions);

/* An upper bound of their memory, in bytes. */
size_t jit_functions_memory(const struct jit_functions *functions);

/* The time of the last piece; 0: there is none. */
uint64_t jit_functions_time(const struct jit_functions *functions);

/*
 * Adds a function, which must not be empty, with the lines that were added last if their address is
 * its own. A time before the last one becomes that. Returns 0; -ENOSPC at a limit; or -ENOMEM.
 * After an error they may only be deinitialized.
 */
int jit_functions_add(struct jit_functions *functions, const struct jit_load *load);

enum jit_move_outcome {
	JIT_MOVE_OK,
	JIT_MOVE_E_UNKNOWN, /* no such function begins there now; the target gets no name */
};

/* Moves a function from a time on. Returns a jit_move_outcome, or as jit_functions_add(). */
int jit_functions_move(struct jit_functions *functions, const struct jit_move *move);

/* Finds the function at an address at a time (UINT64_MAX: now); false: there was none. */
bool jit_functions_find(const struct jit_functions *functions, uint64_t address, uint64_t time,
			struct jit_code *ret);

/* Finds the source line of an address in a function that was found; false: none is known. */
bool jit_functions_find_line(const struct jit_functions *functions, const struct jit_code *code,
			     uint64_t address, struct jit_place *ret);
