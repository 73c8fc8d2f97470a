/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The source lines of the functions in a jitdump. Those of one function are contiguous. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/name-store.h"

enum { JIT_LINES_MAX = 1 << 21 }; /* 32 MiB */

struct jit_line {
	uint32_t offset; /* in its function */
	uint32_t line, column;
	uint32_t file; /* in the name store */
};

struct jit_lines {
	struct jit_line *list;
	size_t n, n_allocated;
	uint32_t lowest;    /* least of the first offsets of all functions */
	uint32_t last_file; /* usually the next line's, too */
	bool has_last_file;

	/* Lines from `pending` on are for the next function, at pending_address. */
	size_t pending;
	uint64_t pending_address;
};

void jit_lines_deinit(struct jit_lines *lines);

/*
 * Adds the payload of a JIT_CODE_DEBUG_INFO record; lines of an earlier one that no function took
 * are dropped. `ret_n_refused` is the number of dropped entries. 0; -ENOSPC of `names`; or -ENOMEM.
 */
int jit_lines_add(struct jit_lines *lines, struct name_store *names, const char *bytes, size_t size,
		  uint64_t *ret_n_refused);

/* Gives the function at `start` the lines that were added last, if their address matches. */
void jit_lines_take(struct jit_lines *lines, uint64_t start, uint32_t *ret_first, uint32_t *ret_n);

/* Drops the lines that were added last. */
void jit_lines_drop(struct jit_lines *lines);

/* Returns the line of an offset in the function of lines `first` to `first + n`; NULL: unknown. */
const struct jit_line *jit_lines_find(const struct jit_lines *lines, uint32_t first, uint32_t n,
				      uint64_t offset);
