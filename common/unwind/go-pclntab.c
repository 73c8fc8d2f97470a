/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/base/binary-search.h"
#include "common/unwind/go-pclntab.h"

enum {
	MAGIC_1_18 = 0xfffffff0U,
	MAGIC_1_20 = 0xfffffff1U,
	/* Of the header, in 8-byte words after magic, padding, quantum and word size. */
	HEAD_WORDS = 8,
	/* Fixed part of a function's entry. Go 1.20 added the line where it begins. */
	FUNCTION_SIZE_1_18 = 40,
	FUNCTION_SIZE = 44,
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

static bool is_readable(const struct go_pclntab *table)
{
	return !table->bytes[4] && !table->bytes[5] && table->bytes[7] == 8 && table->quantum &&
	       table->names_at < table->units_at && has(table, table->units_at, 0) &&
	       !table->bytes[table->units_at - 1] && has(table, table->instructions_at, 1) &&
	       has(table, table->functions_at, 4) &&
	       table->n <= (table->size - table->functions_at - 4) / 8;
}

enum go_pclntab_outcome go_pclntab_read(const void *bytes, size_t size, uint64_t address,
					struct go_pclntab *ret)
{
	enum { N_FUNCTIONS, N_FILES, TEXT, NAMES, UNITS, FILES, INSTRUCTIONS, FUNCTIONS };
	uint64_t words[HEAD_WORDS];
	uint32_t magic;

	*ret = (struct go_pclntab){ .bytes = bytes, .size = size, .address = address };
	if (!has(ret, 0, 8 + sizeof(words)))
		return GO_PCLNTAB_E_BAD;
	magic = word_at(ret, 0);
	if (magic != MAGIC_1_18 && magic != MAGIC_1_20)
		return GO_PCLNTAB_E_VERSION;
	memcpy(words, ret->bytes + 8, sizeof(words));
	ret->quantum = ret->bytes[6];
	ret->is_1_18 = magic == MAGIC_1_18;
	ret->n = words[N_FUNCTIONS];
	ret->text = words[TEXT];
	ret->names_at = words[NAMES];
	ret->units_at = words[UNITS];
	ret->files_at = words[FILES];
	ret->instructions_at = words[INSTRUCTIONS];
	ret->functions_at = words[FUNCTIONS];
	if (!is_readable(ret))
		return GO_PCLNTAB_E_BAD;
	return ret->text ? GO_PCLNTAB_OK : GO_PCLNTAB_E_TEXT;
}

const char *go_name(const struct go_pclntab *table, uint32_t at)
{
	uint64_t name = table->names_at + at;

	return name < table->units_at ? (const char *)table->bytes + name : NULL;
}

bool go_pclntab_function(const struct go_pclntab *table, uint64_t i, struct go_function *ret)
{
	uint64_t entry = table->functions_at + 8 * i;
	uint64_t at = table->functions_at + word_at(table, entry + 4);
	uint64_t size = table->is_1_18 ? FUNCTION_SIZE_1_18 : FUNCTION_SIZE;
	uint32_t start = word_at(table, entry), end = word_at(table, entry + 8);

	if (start >= end || (i && word_at(table, entry - 8) > start) || !has(table, at, size) ||
	    __builtin_add_overflow(table->text, (uint64_t)end, &ret->end))
		return false;
	ret->start = table->text + start;
	ret->name = go_name(table, word_at(table, at + 4));
	ret->stack_at = word_at(table, at + 16);
	ret->file_at = word_at(table, at + 20);
	ret->line_at = word_at(table, at + 24);
	ret->n_tables = word_at(table, at + 28);
	ret->unit = word_at(table, at + 32);
	ret->flags = table->bytes[at + size - 3];
	ret->n_data = table->bytes[at + size - 1];
	ret->data_at = at + size;
	return ret->name;
}

bool go_pclntab_find(const struct go_pclntab *table, uint64_t address, struct go_function *ret)
{
	uint64_t offset = address - table->text;
	size_t i = BINARY_SEARCH(k, 0, table->n,
				 word_at(table, table->functions_at + 8 * k) <= offset);

	return address >= table->text && i && go_pclntab_function(table, i - 1, ret) &&
	       address >= ret->start && address < ret->end;
}

uint32_t go_function_table(const struct go_pclntab *table, const struct go_function *function,
			   uint32_t kind)
{
	uint64_t at = function->data_at + 4 * kind;

	return kind < function->n_tables && has(table, at, 4) ? word_at(table, at) : 0;
}

bool go_function_data(const struct go_pclntab *table, const struct go_function *function,
		      uint32_t kind, uint32_t *ret)
{
	uint64_t at = function->data_at + 4 * ((uint64_t)function->n_tables + kind);

	*ret = UINT32_MAX;
	if (kind < function->n_data && has(table, at, 4))
		*ret = word_at(table, at);
	return *ret != UINT32_MAX;
}

const char *go_file_name(const struct go_pclntab *table, const struct go_function *function,
			 uint32_t number)
{
	uint64_t entry = table->units_at + 4 * ((uint64_t)function->unit + number), at;

	if (entry >= table->files_at || !has(table, entry, 4))
		return NULL;
	at = table->files_at + word_at(table, entry);
	return at < table->instructions_at &&
			       memchr(table->bytes + at, 0, table->instructions_at - at)
		       ? (const char *)table->bytes + at
		       : NULL;
}

struct go_walk go_walk_begin(const struct go_pclntab *table, const struct go_function *function,
			     uint32_t offset)
{
	uint64_t at = table->instructions_at + offset;
	bool has_table = offset && has(table, at, 1);

	return (struct go_walk){
		.cursor = { table->bytes + (has_table ? at : table->size),
			    table->bytes + table->size, false },
		.start = function->start,
		.pc = function->start,
		.limit = function->end,
		.quantum = table->quantum,
		.value = -1,
		.is_first = true,
	};
}

bool go_walk_next(struct go_walk *walk)
{
	uint64_t by_value = dwarf_take_uleb(&walk->cursor);
	uint64_t by_pc = dwarf_take_uleb(&walk->cursor), size;

	if (walk->cursor.is_bad || walk->pc >= walk->limit || (!by_value && !walk->is_first) ||
	    by_value > UINT32_MAX || !by_pc || by_pc > UINT32_MAX)
		return false;
	walk->is_first = false;
	walk->start = walk->pc;
	/* The lowest bit is the sign: a negative number is stored as its complement. */
	walk->value += by_value & 1 ? -(int64_t)(by_value >> 1) - 1 : (int64_t)(by_value >> 1);
	size = by_pc * walk->quantum;
	walk->pc = size < walk->limit - walk->pc ? walk->pc + size : walk->limit;
	return walk->value >= -1 && walk->value <= INT32_MAX;
}

bool go_stack_walk_next(struct go_walk *walk)
{
	return go_walk_next(walk) && walk->value >= 0 && walk->value < DEPTH_MAX;
}

bool go_value_at(const struct go_pclntab *table, const struct go_function *function, uint32_t at,
		 uint64_t pc, int64_t *ret)
{
	struct go_walk walk = go_walk_begin(table, function, at);

	*ret = -1;
	if (!at)
		return true;
	for (size_t n = 0; n < GO_VALUES_MAX && go_walk_next(&walk); n++)
		if (pc < walk.pc) {
			*ret = walk.value;
			return true;
		}
	return false;
}

uint64_t go_function_code_end(const struct go_pclntab *table, const struct go_function *function)
{
	struct go_walk walk = go_walk_begin(table, function, function->stack_at);

	while (go_stack_walk_next(&walk))
		;
	return walk.is_first ? function->end : walk.pc;
}
