/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions that a JIT compiler has made, and where each of them was at which time: from when
 * it was put there until other code is put over it, or it is moved.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/jit/code-history.h"
#include "common/jit/jit-lines.h"
#include "common/base/name-store.h"

enum { JIT_PIECES_MAX = 1 << 18 }; /* functions at a place, and places that were left */

struct jit_function {
	uint64_t start, size; /* where it was first; it is as large wherever it is */
	uint64_t index;	      /* the compiler's number for it */
	uint64_t code_at;     /* where its code is in the file; 0: that is not known */
	uint32_t name;
	uint32_t first_line, n_lines;
};

/* What is at a place since a time. */
struct jit_piece {
	uint64_t time;
	uint32_t function;
};

struct jit_functions {
	struct code_history history;
	struct jit_piece *pieces; /* as in `history`; no time is before the one before it */
	struct jit_function *list;
	size_t n;
	struct jit_lines lines;
	struct name_store names;
};

/* What a function is when it is added. */
struct jit_load {
	uint64_t start, size, index, time;
	uint64_t code_at;
	const char *name;
	size_t name_size;
};

struct jit_move {
	uint64_t from, to, size, index, time;
};

/* A function at one of its places. */
struct jit_code {
	uint64_t start, size;
	const char *name; /* not clean, may be empty; it stays until more is added */
	size_t piece;	  /* its number: the same one as long as nothing else was there */
	const struct jit_function *function;
};

struct jit_place {
	const char *file; /* not clean */
	uint32_t line, column;
};

void jit_functions_init(struct jit_functions *functions);
void jit_functions_deinit(struct jit_functions *functions);

/* Bytes that they take, at most. */
size_t jit_functions_memory(const struct jit_functions *functions);

/* The last time that is known of. */
uint64_t jit_functions_time(const struct jit_functions *functions);

/*
 * Adds a function with the lines that were added last, if they are its. It must not be empty. A
 * time before the last one counts as that. 0; -ENOSPC: a limit is reached; or -ENOMEM. After an
 * error they may only be deinitialized.
 */
int jit_functions_add(struct jit_functions *functions, const struct jit_load *load);

enum jit_move_outcome {
	JIT_MOVE_OK,
	JIT_MOVE_E_UNKNOWN, /* the function of that number does not begin there now; what it was
			       moved to has no name */
};

/* A function is somewhere else from now on. A jit_move_outcome or as above. */
int jit_functions_move(struct jit_functions *functions, const struct jit_move *move);

/* The function that was at an address at a time (UINT64_MAX: that is now); false: none was. */
bool jit_functions_find(const struct jit_functions *functions, uint64_t address, uint64_t time,
			struct jit_code *ret);

/* The source line of an address of what was found; false: none is known. */
bool jit_functions_find_line(const struct jit_functions *functions, const struct jit_code *code,
			     uint64_t address, struct jit_place *ret);
