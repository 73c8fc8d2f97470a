/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/base/hash.h"
#include "tests/steps/managed-reader.h"
#include "tests/steps/tracee.h"

enum {
	LEVELS = 5,
	LEVEL_BITS = 8,
	LEVEL_SHIFT = 17,
	BUCKET = 32,
	NIBBLES = 8,
	STUBS = 16,
	TOKEN_BITS = 12,
	TYPES = 2,
	METHODS = 6,
	NESTED = 41,
};

static uint64_t read_number(const struct managed_reader *reader, uint64_t address, size_t size)
{
	uint64_t number = 0;

	return tracee_read(reader->pid, address, &number, size) == size ? number : 0;
}

static uint64_t read_word(const struct managed_reader *reader, uint64_t address)
{
	return read_number(reader, address, sizeof(uint64_t));
}

static uint64_t find_section(const struct managed_reader *reader, uint64_t address)
{
	uint64_t at = reader->managed->map, begin, end;

	for (int level = LEVELS - 1; level >= 0; level--) {
		at += (address >> (LEVEL_SHIFT + level * LEVEL_BITS) & 0xff) * sizeof(at);
		at = read_word(reader, at) & ~1ULL;
		if (!at)
			return 0;
	}
	for (; at; at = read_word(reader, at) & ~1ULL) {
		begin = read_word(reader, at + 8);
		end = read_word(reader, at + 16);
		if (address >= begin && address < end)
			return read_word(reader, at + 24);
	}
	return 0;
}

/* By the nibbles of its heap, one after the other. */
static uint64_t find_in_heap(const struct managed_reader *reader, uint64_t heap, uint64_t address)
{
	uint64_t base = read_word(reader, heap + reader->managed->heap_base),
		 map = read_word(reader, heap + reader->managed->heap_map);

	for (uint64_t bucket = (address - base) / BUCKET; address >= base; bucket--) {
		uint32_t word = read_number(reader, map + bucket / NIBBLES * 4, 4),
			 nibble = word >> (NIBBLES - 1 - bucket % NIBBLES) * 4 & 15;
		uint64_t begin = base + bucket * BUCKET + (nibble - 1) * 4;

		if ((word & 15) > NIBBLES) /* the distance of code that is in all of it */
			return base + (word & ~15U) + ((word & 15) - NIBBLES - 1) * 4;
		if (nibble && begin <= address)
			return read_word(reader, begin - 8) >= STUBS ? begin : 0;
		if (!bucket)
			break;
	}
	return 0;
}

static void describe(const struct managed_reader *reader, uint64_t base, struct dotnet_code *code)
{
	tracee_read(reader->pid, base + code->functions[0].unwind, code->unwind,
		    sizeof(code->unwind));
}

static void read_header(const struct managed_reader *reader, uint64_t begin,
			struct managed_found *ret)
{
	const struct walk_managed *managed = reader->managed;
	uint64_t header = read_word(reader, begin - 8);
	size_t n;

	ret->begin = begin;
	ret->code.method = read_word(reader, header + managed->header_method);
	ret->code.n_functions = read_number(reader, header + managed->header_count, 4);
	n = ret->code.n_functions < DOTNET_FUNCTIONS_MAX ? ret->code.n_functions
							 : DOTNET_FUNCTIONS_MAX;
	tracee_read(reader->pid, header + managed->header_functions, ret->code.functions,
		    n * sizeof(struct dotnet_function));
	describe(reader, begin - ret->code.functions[0].begin, &ret->code);
}

/* The method whose code begins at an address: all buckets are looked at. */
static uint64_t find_entry(const struct managed_reader *reader, uint64_t buckets, uint64_t address)
{
	uint64_t n = read_word(reader, buckets), bucket[8];

	for (uint64_t i = 1; i <= n && i < 1 << 20; i++) {
		if (tracee_read(reader->pid, buckets + i * sizeof(bucket), bucket,
				sizeof(bucket)) != sizeof(bucket))
			return 0;
		for (int j = 0; j < 4; j++)
			if (bucket[j] == address)
				return bucket[4 + j] << 1;
	}
	return 0;
}

static uint64_t find_function(const struct managed_reader *reader, uint64_t functions, uint64_t n,
			      uint64_t place, struct dotnet_function *ret)
{
	uint64_t low = 0, high = n;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (read_number(reader, functions + middle * sizeof(*ret), 4) <= place)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || tracee_read(reader->pid, functions + (low - 1) * sizeof(*ret), ret,
				sizeof(*ret)) != sizeof(*ret))
		return 0;
	return place >= ret->begin && place < ret->end ? low : 0;
}

static void find_in_file(const struct managed_reader *reader, uint64_t section, uint64_t address,
			 struct managed_found *ret)
{
	const struct walk_managed *managed = reader->managed;
	uint64_t base = read_word(reader, section),
		 module = read_word(reader, section + managed->section_module),
		 info = module ? read_word(reader, module + managed->module_file) : 0,
		 functions = read_word(reader, info + managed->file_functions),
		 methods = read_word(reader, read_word(reader, info + managed->file_whole) +
						     managed->file_methods),
		 i;
	struct dotnet_function function;

	i = info ? find_function(reader, functions,
				 read_number(reader, info + managed->file_count, 4), address - base,
				 &function)
		 : 0;
	if (!i)
		return;
	for (; i && !ret->method; i--)
		ret->method = find_entry(reader, methods,
					 base + read_number(reader, functions + (i - 1) * 12, 4));
	if (!ret->method)
		return;
	ret->begin = base + function.begin;
	ret->code.method = ret->method;
	ret->code.n_functions = 1;
	ret->code.functions[0] = function;
	describe(reader, base, &ret->code);
}

static uint64_t find_row(const struct managed_reader *reader, uint64_t metadata, int table,
			 uint64_t number)
{
	uint64_t size = read_number(
		reader, metadata + reader->managed->metadata_tables + table * 16 + 10, 2);

	return read_word(reader, metadata + reader->managed->metadata_rows + table * 8) +
	       (number - 1) * size;
}

static void read_name(const struct managed_reader *reader, uint64_t metadata, uint64_t at, int i,
		      char to[DOTNET_NAME_MAX])
{
	uint64_t mask = read_number(reader, metadata + reader->managed->metadata_mask, 4);
	size_t size = mask > UINT16_MAX ? 4 : 2;
	uint64_t name = read_number(reader, at + i * size, size);

	tracee_read(reader->pid,
		    read_word(reader, metadata + reader->managed->metadata_names) + name, to,
		    DOTNET_NAME_MAX - 1);
	memset(to + strlen(to), 0, DOTNET_NAME_MAX - strlen(to));
}

/* The type that another one is within; 0: none. */
static uint64_t find_outer(const struct managed_reader *reader, uint64_t metadata, uint64_t type)
{
	uint64_t n =
		read_number(reader, metadata + reader->managed->metadata_counts + NESTED * 4, 4);
	size_t size = find_row(reader, metadata, NESTED, 2) - find_row(reader, metadata, NESTED, 1);

	for (uint64_t i = 1; i <= n; i++) {
		uint64_t row = find_row(reader, metadata, NESTED, i);

		if (read_number(reader, row, size / 2) == type)
			return read_number(reader, row + size / 2, size / 2);
	}
	return 0;
}

void managed_reader_name(const struct managed_reader *reader, struct dotnet_code *code)
{
	const struct walk_managed *managed = reader->managed;
	uint64_t index = read_number(reader, code->method + managed->method_index, 1),
		 block = code->method - managed->block_size - index * 8,
		 type = read_word(reader, block + managed->block_type),
		 module = read_word(reader, type + managed->type_module),
		 assembly = read_word(reader, module + managed->module_assembly),
		 metadata = read_word(reader, assembly + managed->assembly_metadata), token, number,
		 row;

	code->method_flags = read_number(reader, code->method + managed->method_flags, 2);
	if ((code->method_flags & DOTNET_METHOD_KINDS) == DOTNET_METHOD_DYNAMIC || !metadata)
		return;
	token = read_number(reader, code->method + managed->method_token, 2) &
		((1 << TOKEN_BITS) - 1);
	token |= (read_number(reader, block + managed->block_range, 2) & ((1 << TOKEN_BITS) - 1))
		 << TOKEN_BITS;
	read_name(reader, metadata, find_row(reader, metadata, METHODS, token) + 8, 0, code->name);
	number = read_number(reader, type + managed->type_flags, 4) >> 8;
	for (int i = 0; i < DOTNET_TYPES_MAX && number; i++) {
		row = find_row(reader, metadata, TYPES, number) + 4;
		read_name(reader, metadata, row, 0, code->types[i]);
		read_name(reader, metadata, row, 1, code->name_space);
		number = find_outer(reader, metadata, number);
	}
}

void managed_reader_find(const struct managed_reader *reader, uint64_t address,
			 struct managed_found *ret)
{
	const struct walk_managed *managed = reader->managed;
	uint64_t section, heap, begin, words[sizeof(ret->code) / 8];

	*ret = (struct managed_found){ 0 };
	if (address < managed->from || address >= managed->to ||
	    (address >= managed->not_from && address < managed->not_to))
		return;
	section = find_section(reader, address);
	heap = section ? read_word(reader, section + managed->section_heap) : 0;
	begin = heap ? find_in_heap(reader, heap, address) : 0;
	if (begin)
		read_header(reader, begin, ret);
	else if (section && !heap)
		find_in_file(reader, section, address, ret);
	if (!ret->begin)
		return;
	memcpy(words, &ret->code, sizeof(words));
	ret->identity = ret->begin;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		ret->identity = hash_word(ret->identity, words[i]);
	ret->identity |= 1;
}
