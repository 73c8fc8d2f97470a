/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "symbolizer/script/ruby-code.h"

enum {
	/* Flags of an object: its type, and of a string that its text is elsewhere. */
	TYPE_MASK = 0x1f,
	STRING = 5,
	IS_ELSEWHERE = 1 << 13,
	SHORT_MASK = 0x1f,
	SHORT_TEXT = 16, /* where a short one is (struct RString, up to 3.1) */
	WORD = 8,
	/* struct iseq_insn_info_entry: a line, and more. */
	ENTRY = 12,
	/*
	 * struct succ_index_table (iseq.c): for each of the first words of code how many entries
	 * begin there or before, of which each word of the table has nine; then blocks of a rank,
	 * eight ranks within the block, and a bit for each word of code.
	 */
	NEAR_MAX = 54,
	NEAR_IN_WORD = 9,
	NEAR_BITS = 7,
	BLOCK = 80,
	BLOCK_RANKS = 8,
	BLOCK_BITS = 16,
	BLOCK_WORDS = 512, /* of code */
	RANK_BITS = 9,
	WORD_BITS = 64,
	CODE_WORDS_MAX = 1 << 19,
};

/* An entry of `script_lines.bytes`. */
struct ruby_line {
	uint32_t position, line;
};

static bool is_string(const struct wire_blob *piece)
{
	return piece->size >= WORD && (memory_number(piece->data, WORD) & TYPE_MASK) == STRING;
}

/* Takes over a string up to its first zero. Empty: it was not in memory. */
static void decode_text(const struct ruby_fields *fields, const struct wire_blob *piece,
			char ret[SCRIPT_TEXT_MAX])
{
	const char *bytes = piece->data;
	uint64_t flags, length, at = fields->text;

	if (!is_string(piece) || piece->size < (uint64_t)fields->text ||
	    piece->size < (uint64_t)fields->text_length + WORD)
		return;
	flags = memory_number(bytes, WORD);
	length = memory_number(bytes + fields->text_length, WORD);
	if (fields->text_short >= 0 && !(flags & IS_ELSEWHERE)) {
		length = flags >> fields->text_short & SHORT_MASK;
		at = SHORT_TEXT;
	}
	if (piece->size < at)
		return;
	length = length < piece->size - at ? length : piece->size - at;
	length = length < SCRIPT_TEXT_MAX - 1 ? length : SCRIPT_TEXT_MAX - 1;
	memcpy(ret, bytes + at, strnlen(bytes + at, length));
}

/* How many entries of the table begin at a word of code or before; -1: the table ends before. */
static int64_t rank_of(const struct wire_blob *table, uint32_t n_words, uint32_t word)
{
	uint64_t n_near = n_words < NEAR_MAX ? n_words + NEAR_IN_WORD - 1 : NEAR_MAX;
	uint64_t at = word / NEAR_IN_WORD * WORD, block, in_block, rank, within, bits;
	const char *bytes = table->data;

	if (word < NEAR_MAX)
		return at + WORD > table->size ? -1
					       : (int64_t)(memory_number(bytes + at, WORD) >>
								   word % NEAR_IN_WORD * NEAR_BITS &
							   ((1 << NEAR_BITS) - 1));
	block = n_near / NEAR_IN_WORD * WORD + (word - NEAR_MAX) / BLOCK_WORDS * BLOCK;
	in_block = (word - NEAR_MAX) % BLOCK_WORDS;
	within = in_block / WORD_BITS;
	if (block + BLOCK > table->size)
		return -1;
	rank = memory_number(bytes + block, sizeof(uint32_t));
	if (within)
		rank += memory_number(bytes + block + BLOCK_RANKS, WORD) >>
				(within - 1) * RANK_BITS &
			((1 << RANK_BITS) - 1);
	bits = memory_number(bytes + block + BLOCK_BITS + within * WORD, WORD);
	return rank + __builtin_popcountll(bits << (WORD_BITS - 1 - in_block % WORD_BITS));
}

/* Fills in where each of `n` entries begins. Returns how many have a place that was read. */
static size_t find_positions(const struct wire_blob *table, uint32_t n_words, size_t n,
			     struct ruby_line *lines)
{
	size_t found = 0;

	for (uint32_t word = 0; word < n_words && found < n; word++) {
		int64_t rank = rank_of(table, n_words, word);

		if (rank < 0)
			break;
		while (found < n && (int64_t)found < rank)
			lines[found++].position = word;
	}
	return found;
}

/* Joins the lines of entries with their positions. 0 or -ENOMEM. */
static int make_lines(const struct wire_blob *entries, const struct wire_blob *table,
		      uint32_t n_words, size_t n_entries, struct ruby_code *ret)
{
	size_t n = entries->size / ENTRY < n_entries ? entries->size / ENTRY : n_entries;
	struct ruby_line *lines = calloc(n + 1, sizeof(*lines)); /* the last one is the end */

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		lines[i].line =
			memory_number((const char *)entries->data + i * ENTRY, sizeof(uint32_t));
	n = n_entries == 1 ? n : find_positions(table, n_words, n, lines);
	if (n < n_entries && n)
		lines[n - 1].line = 0; /* nobody knows where it ends */
	lines[n] = (struct ruby_line){ .position = n_words };
	if (n_entries)
		ret->lines.first_line = 0;
	ret->bytes = (uint8_t *)lines;
	ret->lines.bytes = ret->bytes;
	ret->lines.size = (n + 1) * sizeof(*lines);
	return 0;
}

/* Whether what is recorded of a body itself holds its fields. */
static bool has_fields(const struct ruby_fields *fields)
{
	const int64_t all[] = { fields->body_count, fields->body_line, fields->body_entries };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] + (int64_t)sizeof(uint32_t) > fields->body_size)
			return false;
	return true;
}

int ruby_code_decode(const struct ruby_fields *fields, const struct wire_memory *record,
		     struct ruby_code *ret)
{
	const char *bytes = record->bytes.data;
	struct wire_blob label, path, first, entries, positions;
	struct memory_pieces pieces;
	uint32_t n_words;

	*ret = (struct ruby_code){ 0 };
	if (fields->body_size < 1 || !has_fields(fields) ||
	    !memory_pieces_begin(&record->bytes, fields->body_size, &pieces) ||
	    !memory_pieces_next(&pieces, &label) || !memory_pieces_next(&pieces, &path) ||
	    !memory_pieces_next(&pieces, &first) || !memory_pieces_next(&pieces, &entries) ||
	    !memory_pieces_next(&pieces, &positions))
		return 1;
	n_words = memory_number(bytes + fields->body_count, sizeof(n_words));
	if (n_words > CODE_WORDS_MAX)
		return 1;
	decode_text(fields, &label, ret->text.name);
	decode_text(fields, is_string(&path) ? &path : &first, ret->text.file);
	ret->lines.first_line =
		(uint32_t)memory_number(bytes + fields->body_line, sizeof(uint32_t)) >>
		fields->line_shift;
	return make_lines(&entries, &positions, n_words,
			  memory_number(bytes + fields->body_entries, sizeof(uint32_t)), ret);
}

uint32_t ruby_lines_find(const struct script_lines *lines, uint64_t place)
{
	size_t n = lines->size / sizeof(struct ruby_line), at;
	uint64_t word = place ? place - 1 : 0;
	struct ruby_line line;

#define POSITION_OF(i)                                                                             \
	(memcpy(&line, lines->bytes + (i) * sizeof(line), sizeof(line)), line.position)
	at = BINARY_SEARCH(i, 0, n, POSITION_OF(i) <= word);
#undef POSITION_OF
	if (!at)
		return lines->first_line;
	memcpy(&line, lines->bytes + (at - 1) * sizeof(line), sizeof(line));
	return line.line;
}
