/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/unwind/go-pclntab.h"

enum {
	MAGIC_1_18 = 0xfffffff0U,
	MAGIC_1_20 = 0xfffffff1U,
	/* Of the header, in 8-byte words after magic, padding, quantum and word size. */
	HEAD_WORDS = 8,
	FUNCTION_SIZE = 40, /* fixed part of an entry, in its shorter form */
	DEPTH_MAX = 1 << 30,
};

static uint32_t word_at(const struct go_pclntab *table, uint64_t at)
{
	uint32_t word;

	memcpy(&word, table->bytes + at, sizeof(word));
	return word;
}

/* Whether the table has `n` bytes at `at`. */
static bool has(const struct go_pclntab *table, uint64_t at, uint64_t n)
{
	return at <= table->size && n <= table->size - at;
}

enum go_pclntab_outcome go_pclntab_read(const void *bytes, size_t size, uint64_t module_text,
					struct go_pclntab *ret)
{
	enum { N_FUNCTIONS, N_FILES, TEXT, NAMES, UNITS, FILES, INSTRUCTIONS, FUNCTIONS };
	uint64_t words[HEAD_WORDS];
	uint32_t magic;

	*ret = (struct go_pclntab){ .bytes = bytes, .size = size };
	if (!has(ret, 0, 8 + sizeof(words)))
		return GO_PCLNTAB_E_BAD;
	magic = word_at(ret, 0);
	if (magic != MAGIC_1_18 && magic != MAGIC_1_20)
		return GO_PCLNTAB_E_VERSION;
	memcpy(words, ret->bytes + 8, sizeof(words));
	ret->quantum = ret->bytes[6];
	ret->flags_at = magic == MAGIC_1_18 ? 37 : 41; /* Go 1.20 added the start line */
	ret->n = words[N_FUNCTIONS];
	ret->text = words[TEXT] ? words[TEXT] : module_text;
	ret->names_at = words[NAMES];
	ret->names_end = words[UNITS]; /* which follow the names */
	ret->instructions_at = words[INSTRUCTIONS];
	ret->functions_at = words[FUNCTIONS];
	if (ret->bytes[4] || ret->bytes[5] || ret->bytes[7] != 8 || !ret->quantum ||
	    ret->names_at >= ret->names_end || !has(ret, ret->names_end, 0) ||
	    ret->bytes[ret->names_end - 1] || !has(ret, ret->instructions_at, 1) ||
	    !has(ret, ret->functions_at, 4) || ret->n > (size - ret->functions_at - 4) / 8)
		return GO_PCLNTAB_E_BAD;
	return ret->text ? GO_PCLNTAB_OK : GO_PCLNTAB_E_TEXT;
}

bool go_pclntab_function(const struct go_pclntab *table, uint64_t i, struct go_function *ret)
{
	uint64_t entry = table->functions_at + 8 * i, at, name;
	uint32_t start = word_at(table, entry), end = word_at(table, entry + 8);

	at = table->functions_at + word_at(table, entry + 4);
	if (start >= end || (i && word_at(table, entry - 8) > start) ||
	    !has(table, at, FUNCTION_SIZE + 4))
		return false;
	name = table->names_at + word_at(table, at + 4);
	if (name >= table->names_end ||
	    __builtin_add_overflow(table->text, (uint64_t)end, &ret->end))
		return false;
	ret->start = table->text + start;
	ret->name = (const char *)table->bytes + name;
	ret->stack_at = word_at(table, at + 16);
	ret->flags = table->bytes[at + table->flags_at];
	return true;
}

struct go_stack_walk go_stack_walk_begin(const struct go_pclntab *table,
					 const struct go_function *function)
{
	uint64_t at = table->instructions_at + function->stack_at;
	bool has_table = function->stack_at && has(table, at, 1);

	return (struct go_stack_walk){
		.cursor = { table->bytes + (has_table ? at : table->size),
			    table->bytes + table->size, false },
		.start = function->start,
		.pc = function->start,
		.limit = function->end,
		.quantum = table->quantum,
		.depth = -1,
		.is_first = true,
	};
}

bool go_stack_walk_next(struct go_stack_walk *walk)
{
	uint64_t by_depth = dwarf_take_uleb(&walk->cursor);
	uint64_t by_pc = dwarf_take_uleb(&walk->cursor);

	if (walk->cursor.is_bad || walk->pc >= walk->limit || (!by_depth && !walk->is_first) ||
	    by_depth > UINT32_MAX || !by_pc || by_pc > UINT32_MAX)
		return false;
	walk->is_first = false;
	walk->start = walk->pc;
	/* The lowest bit is the sign: a negative number is stored as its complement. */
	walk->depth += by_depth & 1 ? -(int64_t)(by_depth >> 1) - 1 : (int64_t)(by_depth >> 1);
	walk->pc += by_pc * walk->quantum;
	if (walk->pc > walk->limit)
		walk->pc = walk->limit;
	return walk->depth >= 0 && walk->depth < DEPTH_MAX;
}

uint64_t go_function_code_end(const struct go_pclntab *table, const struct go_function *function)
{
	struct go_stack_walk walk = go_stack_walk_begin(table, function);

	while (go_stack_walk_next(&walk))
		;
	return walk.is_first ? function->end : walk.pc;
}
