/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of many pieces of code was the last one to be put at an address, where they were put one
 * after the other and partly over each other: by now, or when only so many of them were there.
 *
 * Each FAN pieces, and each FAN such blocks, are made into one sorted list without overlaps, once
 * they are all there. So whatever the pieces are, to add one costs O(log n), and to find one takes
 * at most FAN - 1 binary searches a level.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	CODE_HISTORY_FAN = 16,
	CODE_HISTORY_LEVELS = 4,
	CODE_HISTORY_MAX = 1 << 20, /* pieces: FAN blocks of the highest level */

	/* Bytes of a piece, at most. */
	CODE_HISTORY_PIECE_LATEST = 64,
	CODE_HISTORY_PIECE_ALL = 208,
};

#define CODE_HISTORY_NONE SIZE_MAX

enum code_history_depth {
	CODE_HISTORY_LATEST, /* what is now */
	CODE_HISTORY_ALL,    /* what was, too */
};

struct code_piece {
	uint64_t start, end;
};

/* What of a piece is not covered by later ones of its block. */
struct code_span {
	uint64_t start, end;
	uint32_t piece;
};

struct code_block {
	struct code_span *spans; /* by address */
	size_t n;
};

struct code_level {
	struct code_block *blocks; /* in the order of the pieces */
	size_t n;
};

struct code_history {
	enum code_history_depth depth;
	struct code_piece *pieces; /* in the order in which they came */
	size_t n;
	struct code_level levels[CODE_HISTORY_LEVELS];
};

void code_history_deinit(struct code_history *history);

/* Bytes that it takes, at most. */
size_t code_history_memory(const struct code_history *history);

/*
 * Adds a piece, which must not be empty. 0; -ENOSPC: there are CODE_HISTORY_MAX; -ENOMEM: the
 * history may only be deinitialized.
 */
int code_history_add(struct code_history *history, uint64_t start, uint64_t end);

/*
 * The last of the first `n` pieces that holds an address, CODE_HISTORY_NONE: none does. Without
 * its whole depth a history is only asked about all pieces.
 */
size_t code_history_find(const struct code_history *history, size_t n, uint64_t address);
