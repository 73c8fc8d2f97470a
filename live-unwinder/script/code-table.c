/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/stream/script-place.h"
#include "live-unwinder/script/code-table.h"

enum { OBJECT_TYPE = 8 }; /* PyObject.ob_type */

void code_table_init(struct code_table *table)
{
	pair_map_init(&table->numbers, CODE_TABLE_MAX);
}

void code_table_deinit(struct code_table *table)
{
	pair_map_deinit(&table->numbers);
}

/* An identity is a hash: mixed with the address it stays one. */
static uint64_t mix(uint64_t address, uint64_t identity)
{
	return identity ^ address * 0x9e3779b97f4a7c15ULL;
}

static uint64_t number_of(const struct cpython_fields *fields, const struct wire_memory *record)
{
	uint64_t type;

	if (record->bytes.size < OBJECT_TYPE + sizeof(type))
		return CODE_TABLE_NO_CODE;
	memcpy(&type, (const char *)record->bytes.data + OBJECT_TYPE, sizeof(type));
	return type == (uint64_t)fields->code_type && record->number < SCRIPT_NUMBERS_MAX
		       ? record->number
		       : CODE_TABLE_NO_CODE;
}

int code_table_add(struct code_table *table, const struct cpython_fields *fields,
		   const struct wire_memory *record)
{
	uint64_t key = mix(record->address, record->identity), number = number_of(fields, record);
	int r;

	/* If it is emitted again, its frames stay where they were. */
	if (!record->number || pair_map_find(&table->numbers, record->process, key))
		return 0;
	r = pair_map_add(&table->numbers, record->process, key, number);
	if (r != -ENOSPC)
		return r;
	table->n_forgotten++;
	pair_map_clear(&table->numbers);
	return pair_map_add(&table->numbers, record->process, key, number);
}

static bool is_of_living(uint64_t process, uint64_t key, uint64_t number, void *arg)
{
	return runtime_table_find(arg, process);
}

void code_table_prune(struct code_table *table, const struct runtime_table *runtimes)
{
	pair_map_prune(&table->numbers, is_of_living, (void *)runtimes);
}

uint64_t code_table_find(const struct code_table *table, uint64_t process, uint64_t address,
			 uint64_t identity)
{
	const uint64_t *number = pair_map_find(&table->numbers, process, mix(address, identity));

	return number ? *number : 0;
}
