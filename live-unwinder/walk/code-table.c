/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/script/script-place.h"
#include "live-unwinder/walk/code-table.h"

enum {
	NUMBER_BITS = 40,
	CODE_PROCESSES_MAX = 1 << 16, /* with kept bytes */
};

#define NO_CODE UINT64_MAX

struct kept_code {
	UT_hash_handle hh;
	uint64_t number, process;
	size_t size;
	char bytes[];
};

void code_table_init(struct code_table *table)
{
	*table = (struct code_table){ 0 };
	pair_map_init(&table->numbers, CODE_TABLE_MAX);
	pair_map_init(&table->bytes_of, CODE_PROCESSES_MAX);
}

static void free_kept(struct code_table *table, struct kept_code *code)
{
	uint64_t *of_process = pair_map_find(&table->bytes_of, code->process, 0);

	if (of_process)
		*of_process -= code->size;
	HASH_DEL(table->by_number, code);
	table->n_bytes -= code->size;
	free(code);
}

static void free_all_kept(struct code_table *table)
{
	struct kept_code *code, *next;

	HASH_ITER(hh, table->by_number, code, next)
	free_kept(table, code);
}

void code_table_deinit(struct code_table *table)
{
	free_all_kept(table);
	pair_map_deinit(&table->numbers);
	pair_map_deinit(&table->bytes_of);
}

static void forget_all(struct code_table *table)
{
	table->n_forgotten++;
	pair_map_clear(&table->numbers);
	free_all_kept(table);
	pair_map_clear(&table->bytes_of);
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
	forget_all(table);
	return pair_map_add(&table->numbers, record->process, key, packed);
}

static struct kept_code *find_kept(const struct code_table *table, uint64_t number)
{
	struct kept_code *code;

	HASH_FIND(hh, table->by_number, &number, sizeof(number), code);
	return code;
}

static void count_bytes(struct code_table *table, const struct wire_memory *record)
{
	uint64_t *known = pair_map_find(&table->bytes_of, record->process, 0);

	if (known)
		*known += record->bytes.size;
	else /* without memory, or of too many processes: the limit of all counts */
		pair_map_add(&table->bytes_of, record->process, 0, record->bytes.size);
}

/* Whether a process may have more bytes. */
static bool has_room(const struct code_table *table, const struct wire_memory *record)
{
	const uint64_t *known = pair_map_find(&table->bytes_of, record->process, 0);

	return !known || *known + record->bytes.size <= CODE_PROCESS_BYTES_MAX;
}

static int keep_bytes(struct code_table *table, const struct wire_memory *record)
{
	struct kept_code *code = malloc(sizeof(*code) + record->bytes.size);

	if (!code)
		return -ENOMEM;
	code->number = record->number;
	code->process = record->process;
	code->size = record->bytes.size;
	memcpy(code->bytes, record->bytes.data, record->bytes.size);
	HASH_ADD(hh, table->by_number, number, sizeof(code->number), code);
	if (!HASH_HAS(hh, code)) {
		free(code);
		return -ENOMEM;
	}
	table->n_bytes += code->size;
	count_bytes(table, record);
	return 0;
}

/* Whether an object has the number of this record: not that of an earlier one, or none. */
static bool has_number(const struct code_table *table, const struct wire_memory *record)
{
	struct script_code_view view;

	return code_table_find(table, record->process, record->address, record->identity, &view) ==
		       CODE_IS_KNOWN &&
	       view.number == record->number;
}

int code_table_keep(struct code_table *table, const struct wire_memory *record, uint64_t trait)
{
	int r;

	if (!has_room(table, record)) {
		table->n_refused++;
		return code_table_add(table, record, 0);
	}
	if (table->n_bytes + record->bytes.size > CODE_BYTES_MAX)
		forget_all(table);
	r = code_table_add(table, record, trait);
	return r || !has_number(table, record) || find_kept(table, record->number)
		       ? r
		       : keep_bytes(table, record);
}

bool code_table_find_bytes(const struct code_table *table, uint64_t number, struct wire_blob *ret)
{
	const struct kept_code *code = find_kept(table, number);

	if (code)
		*ret = (struct wire_blob){ code->bytes, code->size };
	return code;
}

void code_table_amend(struct code_table *table, uint64_t number, const void *bytes, size_t size)
{
	struct kept_code *code = find_kept(table, number);

	if (code && code->size == size)
		memcpy(code->bytes, bytes, size);
}

static bool is_of_living(uint64_t process, uint64_t key, uint64_t number, void *arg)
{
	return runtime_table_find(arg, process);
}

void code_table_prune(struct code_table *table, const struct runtime_table *runtimes)
{
	struct kept_code *code, *next;

	if (!pair_map_prune(&table->numbers, is_of_living, (void *)runtimes))
		return;
	pair_map_prune(&table->bytes_of, is_of_living, (void *)runtimes);
	HASH_ITER(hh, table->by_number, code, next)
	{
		if (!runtime_table_find(runtimes, code->process))
			free_kept(table, code);
	}
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
