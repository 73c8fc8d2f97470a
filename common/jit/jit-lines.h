/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The source lines of the functions in a jitdump: each function has some that follow each other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/name-store.h"

enum { JIT_LINES_MAX = 1 << 21 }; /* 32 MiB */

struct jit_line {
	uint32_t offset; /* in its function */
	uint32_t line, column;
	uint32_t file; /* a name */
};

struct jit_lines {
	struct jit_line *list;
	size_t n, n_allocated;
	uint32_t lowest;    /* of all offsets that are the first of their function */
	uint32_t last_file; /* the next line is mostly of the same one */
	bool has_last_file;

	/* Those of the function that comes next; what is behind `pending` is nobody's yet. */
	size_t pending;
	uint64_t pending_address;
};

void jit_lines_deinit(struct jit_lines *lines);

/*
 * Takes the payload of a JIT_CODE_DEBUG_INFO record; if there are lines of such a record already
 * that nobody has taken, they go. `ret_n_refused` says how many entries were left out. 0, -ENOSPC:
 * of `names`; or -ENOMEM.
 */
int jit_lines_add(struct jit_lines *lines, struct name_store *names, const char *bytes, size_t size,
		  uint64_t *ret_n_refused);

/* Gives the lines that were added last to the function at `start`, if they are its. */
void jit_lines_take(struct jit_lines *lines, uint64_t start, uint32_t *ret_first, uint32_t *ret_n);

/* Lines that were added last are nobody's. */
void jit_lines_drop(struct jit_lines *lines);

/* The line of an offset in the function that has these; NULL: it is not known. */
const struct jit_line *jit_lines_find(const struct jit_lines *lines, uint32_t first, uint32_t n,
				      uint64_t offset);
