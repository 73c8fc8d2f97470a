/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/stream/script-place.h"
#include "live-unwinder/script/code-table.h"

enum { NUMBER_BITS = 40 };

#define NO_CODE UINT64_MAX

void code_table_init(struct code_table *table)
{
	pair_map_init(&table->numbers, CODE_TABLE_MAX);
}

void code_table_deinit(struct code_table *table)
{
	pair_map_deinit(&table->numbers);
}

static uint64_t pack(const struct wire_memory *record, uint64_t trait)
{
	return record->number < SCRIPT_NUMBERS_MAX && trait && trait <= CODE_TRAIT_MAX
		       ? trait << NUMBER_BITS | record->number
		       : NO_CODE;
}

int code_table_add(struct code_table *table, const struct wire_memory *record, uint64_t trait)
{
	uint64_t key = hash_word(record->identity, record->address), packed = pack(record, trait);
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
	ret->trait = *packed >> NUMBER_BITS;
	return CODE_IS_KNOWN;
}
