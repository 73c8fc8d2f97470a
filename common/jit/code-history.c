/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/jit/code-history.h"

static_assert(CODE_HISTORY_FAN == 1 << 4 && CODE_HISTORY_MAX == 1 << 4 * (CODE_HISTORY_LEVELS + 1),
	      "blocks are numbered by hexadecimal digits");

/* Pieces in a block of a level; level 0 is the pieces themselves. */
static size_t block_size(unsigned int level)
{
	return (size_t)1 << 4 * level;
}

/* The complete blocks of a level, from 1 on. */
static struct code_level *level_at(struct code_history *history, unsigned int level)
{
	return &history->levels[level - 1];
}

void code_history_deinit(struct code_history *history)
{
	for (unsigned int level = 1; level <= CODE_HISTORY_LEVELS; level++) {
		for (size_t i = 0; i < level_at(history, level)->n; i++)
			free(level_at(history, level)->blocks[i].spans);
		free(level_at(history, level)->blocks);
	}
	free(history->pieces);
	*history = (struct code_history){ .depth = history->depth };
}

size_t code_history_memory(const struct code_history *history)
{
	return history->n * (history->depth == CODE_HISTORY_ALL ? CODE_HISTORY_PIECE_ALL
								: CODE_HISTORY_PIECE_LATEST);
}

/* The spans of a block that are left in a merge; the first may already be cut. */
struct remains {
	const struct code_span *next, *end;
	struct code_span first;
	bool any;
};

static void take_first(struct remains *remains)
{
	remains->any = remains->next < remains->end;
	if (remains->any)
		remains->first = *remains->next++;
}

/*
 * Lays newer spans over older ones: `ret` has what stays visible of both. Of n pieces at most 2n -
 * 1 spans are visible, as each end of a piece is the end of one span at most.
 */
static size_t overlay(const struct code_block *older, const struct code_block *newer,
		      struct code_span *ret)
{
	struct remains below = { .next = older->spans, .end = older->spans + older->n };
	size_t n = 0;

	take_first(&below);
	for (size_t i = 0; i < newer->n; i++) {
		const struct code_span *span = &newer->spans[i];

		for (; below.any && below.first.end <= span->start; take_first(&below))
			ret[n++] = below.first;
		if (below.any && below.first.start < span->start) {
			ret[n] = below.first;
			ret[n++].end = span->start;
		}
		ret[n++] = *span;
		while (below.any && below.first.end <= span->end)
			take_first(&below);
		if (below.any && below.first.start < span->end)
			below.first.start = span->end;
	}
	for (; below.any; take_first(&below))
		ret[n++] = below.first;
	return n;
}

/* Makes blocks of one span of the pieces for a block of level 1. */
static void take_pieces(const struct code_history *history, size_t first,
			struct code_span *ret_spans, struct code_block *ret)
{
	for (size_t i = 0; i < CODE_HISTORY_FAN; i++) {
		const struct code_piece *piece = &history->pieces[first + i];

		ret_spans[i] = (struct code_span){ piece->start, piece->end, first + i };
		ret[i] = (struct code_block){ &ret_spans[i], 1 };
	}
}

/* Merges neighbours until one block is left, which is in one of the two buffers. */
static struct code_block join(struct code_block *blocks, struct code_span *buffers[2])
{
	unsigned int round = 0;

	for (size_t n = CODE_HISTORY_FAN; n > 1; n /= 2, round ^= 1) {
		struct code_span *at = buffers[round];

		for (size_t i = 0; i < n / 2; i++) {
			size_t used = overlay(&blocks[2 * i], &blocks[2 * i + 1], at);

			blocks[i] = (struct code_block){ at, used };
			at += used;
		}
	}
	return blocks[0];
}

/* Adds a block to a level and copies its spans. 0 or -ENOMEM. */
static int add_block(struct code_level *level, const struct code_block *block)
{
	struct code_block *made;

	if (GROWING_LIST_MAKE_ROOM(level->blocks, level->n) < 0)
		return -ENOMEM;
	made = &level->blocks[level->n];
	made->n = block->n;
	made->spans = reallocarray(NULL, block->n, sizeof(*made->spans));
	if (!made->spans)
		return -ENOMEM;
	memcpy(made->spans, block->spans, block->n * sizeof(*made->spans));
	level->n++;
	return 0;
}

/* Makes the block that the last piece completes. 0 or -ENOMEM. */
static int make_block(struct code_history *history, unsigned int level)
{
	size_t n_spans_max = 2 * block_size(level);
	_cleanup_free_ struct code_span *one = reallocarray(NULL, n_spans_max, sizeof(*one));
	_cleanup_free_ struct code_span *other = reallocarray(NULL, n_spans_max, sizeof(*other));
	struct code_block blocks[CODE_HISTORY_FAN], joined;
	struct code_span spans[CODE_HISTORY_FAN];
	struct code_level *parts;

	if (!one || !other)
		return -ENOMEM;
	if (level == 1) {
		take_pieces(history, history->n - CODE_HISTORY_FAN, spans, blocks);
	} else {
		parts = level_at(history, level - 1);
		memcpy(blocks, parts->blocks + parts->n - CODE_HISTORY_FAN, sizeof(blocks));
	}
	joined = join(blocks, (struct code_span *[]){ one, other });
	return add_block(level_at(history, level), &joined);
}

/* Frees the blocks that were merged, unless past states can be looked up. */
static void drop_parts(struct code_history *history, unsigned int level)
{
	struct code_level *parts;

	if (history->depth == CODE_HISTORY_ALL || level == 1)
		return;
	parts = level_at(history, level - 1);
	for (size_t i = parts->n - CODE_HISTORY_FAN; i < parts->n; i++) {
		free(parts->blocks[i].spans);
		parts->blocks[i] = (struct code_block){ 0 };
	}
}

int code_history_add(struct code_history *history, uint64_t start, uint64_t end)
{
	int r;

	assert(start < end);
	if (history->n == CODE_HISTORY_MAX)
		return -ENOSPC;
	r = GROWING_LIST_ADD(history->pieces, history->n, (struct code_piece){ start, end });
	for (unsigned int level = 1; r == 0 && level <= CODE_HISTORY_LEVELS; level++) {
		if (history->n % block_size(level))
			break;
		r = make_block(history, level);
		if (r == 0)
			drop_parts(history, level);
	}
	return r;
}

/* The piece of a block that holds an address. */
static size_t find_in_block(const struct code_block *block, uint64_t address)
{
	size_t low = BINARY_SEARCH(i, 0, block->n, block->spans[i].end <= address);

	if (low == block->n || address < block->spans[low].start)
		return CODE_HISTORY_NONE;
	return block->spans[low].piece;
}

static size_t find_piece(const struct code_history *history, size_t index, uint64_t address)
{
	const struct code_piece *piece = &history->pieces[index];

	return piece->start <= address && address < piece->end ? index : CODE_HISTORY_NONE;
}

/* Searches backwards from the newest, in steps of the largest block that ends there. */
size_t code_history_find(const struct code_history *history, size_t n, uint64_t address)
{
	size_t found = CODE_HISTORY_NONE;
	unsigned int level;

	assert(n == history->n || (history->depth == CODE_HISTORY_ALL && n < history->n));
	for (; n > 0 && found == CODE_HISTORY_NONE; n -= block_size(level)) {
		for (level = 0; level < CODE_HISTORY_LEVELS; level++)
			if (n % block_size(level + 1))
				break;
		if (level == 0)
			found = find_piece(history, n - 1, address);
		else
			found = find_in_block(
				&history->levels[level - 1].blocks[n / block_size(level) - 1],
				address);
	}
	return found;
}
