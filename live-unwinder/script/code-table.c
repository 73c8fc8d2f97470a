/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/stream/script-place.h"
#include "live-unwinder/script/code-table.h"

enum {
	WORD = 8,
	NUMBER_BITS = 40,
	WORDS_MAX = 1 << 20, /* of a frame */
};

#define NO_CODE UINT64_MAX

void code_table_init(struct code_table *table)
{
	pair_map_init(&table->numbers, CODE_TABLE_MAX);
}

void code_table_deinit(struct code_table *table)
{
	pair_map_deinit(&table->numbers);
}

static bool read_field(const struct wire_memory *record, int64_t at, void *ret, size_t size)
{
	if (at < 0 || record->bytes.size < size || (size_t)at > record->bytes.size - size)
		return false;
	memcpy(ret, (const char *)record->bytes.data + at, size);
	return true;
}

/* Words of the code's frames, of which only a stack of frames needs the number; 0: it has none. */
static uint64_t words_of(const struct cpython_fields *fields, const struct wire_memory *record)
{
	uint32_t words, locals;

	if (fields->frame_unit > 0)
		return 1;
	if (fields->code_framesize >= 0)
		return read_field(record, fields->code_framesize, &words, sizeof(words)) ? words
											 : 0;
	if (!read_field(record, fields->code_stacksize, &words, sizeof(words)) ||
	    !read_field(record, fields->code_nlocalsplus, &locals, sizeof(locals)))
		return 0;
	return (uint64_t)words + locals + fields->frame_size / WORD;
}

static uint64_t pack(const struct cpython_fields *fields, const struct wire_memory *record)
{
	uint64_t type, words = words_of(fields, record);

	/* PyObject ends with ob_type. */
	return read_field(record, fields->object - WORD, &type, sizeof(type)) &&
			       type == (uint64_t)fields->code_type &&
			       record->number < SCRIPT_NUMBERS_MAX && words && words < WORDS_MAX
		       ? words << NUMBER_BITS | record->number
		       : NO_CODE;
}

int code_table_add(struct code_table *table, const struct cpython_fields *fields,
		   const struct wire_memory *record)
{
	uint64_t key = hash_word(record->identity, record->address), packed = pack(fields, record);
	int r;

	/* If it is emitted again, its frames stay where they were. */
	if (!record->number || pair_map_find(&table->numbers, record->process, key))
		return 0;
	r = pair_map_add(&table->numbers, record->process, key, packed);
	if (r != -ENOSPC)
		return r;
	table->n_forgotten++;
	pair_map_clear(&table->numbers);
	return pair_map_add(&table->numbers, record->process, key, packed);
}

static bool is_of_living(uint64_t process, uint64_t key, uint64_t number, void *arg)
{
	return runtime_table_find(arg, process);
}

void code_table_prune(struct code_table *table, const struct runtime_table *runtimes)
{
	pair_map_prune(&table->numbers, is_of_living, (void *)runtimes);
}

enum code_table_answer code_table_find(const struct code_table *table, uint64_t process,
				       uint64_t address, uint64_t identity,
				       struct script_code_view *ret)
{
	const uint64_t *packed =
		pair_map_find(&table->numbers, process, hash_word(identity, address));

	if (!packed)
		return CODE_IS_UNKNOWN;
	if (*packed == NO_CODE)
		return CODE_IS_NONE;
	ret->number = *packed & ((1ULL << NUMBER_BITS) - 1);
	ret->frame_size = (*packed >> NUMBER_BITS) * WORD;
	return CODE_IS_KNOWN;
}
