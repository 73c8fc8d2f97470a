/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds which of many pieces of code was put last at an address, where later pieces partly cover
 * earlier ones: of all pieces, or of the first n.
 *
 * Each FAN pieces, and each FAN such blocks, are merged into one sorted list without overlaps once
 * they are complete. So, whatever the pieces are, adding one costs O(log n) on average, and finding
 * one takes at most FAN - 1 binary searches per level.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	CODE_HISTORY_FAN = 16,
	CODE_HISTORY_LEVELS = 4,
	CODE_HISTORY_MAX = 1 << 20, /* pieces: FAN blocks of the highest level */

	/* Most bytes of memory per piece, for each depth. */
	CODE_HISTORY_PIECE_LATEST = 64,
	CODE_HISTORY_PIECE_ALL = 208,
};

#define CODE_HISTORY_NONE SIZE_MAX

enum code_history_depth {
	CODE_HISTORY_LATEST, /* finds among all pieces only */
	CODE_HISTORY_ALL,    /* finds among the first n, too */
};

struct code_piece {
	uint64_t start, end;
};

/* A part of a piece that no later piece of its block covers. */
struct code_span {
	uint64_t start, end;
	uint32_t piece;
};

struct code_block {
	struct code_span *spans; /* sorted by address */
	size_t n;
};

struct code_level {
	struct code_block *blocks; /* in the order of the pieces */
	size_t n;
};

struct code_history {
	enum code_history_depth depth;
	struct code_piece *pieces; /* in the order in which they were added */
	size_t n;
	struct code_level levels[CODE_HISTORY_LEVELS];
};

void code_history_deinit(struct code_history *history);

/* An upper bound of its memory, in bytes. */
size_t code_history_memory(const struct code_history *history);

/*
 * Adds a piece, which must not be empty. Returns 0; -ENOSPC: CODE_HISTORY_MAX is reached; -ENOMEM:
 * the history may only be deinitialized.
 */
int code_history_add(struct code_history *history, uint64_t start, uint64_t end);

/*
 * Returns the last of the first `n` pieces that holds an address, or CODE_HISTORY_NONE. With
 * CODE_HISTORY_LATEST, `n` must be the number of all pieces.
 */
size_t code_history_find(const struct code_history *history, size_t n, uint64_t address);
