/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of V8 12.4, made by hand: functions in JavaScript, and code of two compilers. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/script/v8-pieces.h"
#include "live-unwinder/script/v8-code.h"
#include "live-unwinder/script/v8-walk.h"
#include "live-unwinder/scripts.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	/* What V8 12.4 has. */
	FUNCTION_SIZE = 72,
	FUNCTION_TYPE = 0x112,
	TYPE_AT = 12,
	CODE_SIZE = 64,
	CODE_TYPE = 0xce,
	DATA_OWN = 64,
	ITEMS = 16,
	BASELINE = 10,
	OPTIMIZED = 12,
	/* Functions; the last one that is known is V8's own. */
	FUNCTION = 0x100000,
	STEP = 0x1000,
	N_FUNCTIONS = 5,
	BUILTIN = 5,
	UNKNOWN = 6,
	/* Objects of code, with their numbers, and what they are of. */
	OF_OPTIMIZED = 0x200000,
	OF_BASELINE = 0x300000,
	OF_UNKNOWN = 0x400000,
	OPTIMIZED_NUMBER = 10,
	BASELINE_NUMBER = 11,
	OWN = 1,
	FIRST_INLINED = 2,
	SECOND_INLINED = 3,
	BYTECODE = 0x500001,
	LENGTH = 0x100,
	ONE_INLINED_AT = 0x50,
	TWO_INLINED_AT = 0x60,
	OWN_AGAIN_AT = 0x80,
	RARE_AT = 0xf0, /* from here on it is not known */
	/* Code. */
	IMAGE = 3,
	INTERPRETER = 0x10000000,
	IMAGE_SIZE = 0x100000,
	C = 0x20000000,
	JIT = 0x30000000,
	JIT_BASELINE = 0x30001000,
};

static const char layout[] =
	"frame.function=48 frame.bytecode=32 frame.instruction=80 frame.code=88 function.size=72 "
	"function.data=8 function.type=274 map.type=12 code.size=64 code.start=40 "
	"code.length=52 code.kind=48 code.data=8 code.type=206 code.baseline=10 data.count=24 "
	"data.own=64 items=16";

/* Bytes that are being made. */
struct bytes {
	char at[8192];
	size_t n;
};

static struct bytes record, table;
static struct scripts scripts;
static struct v8_fields fields;

static inline void put(struct bytes *to, const void *bytes, size_t n)
{
	assert_true(to->n + n <= sizeof(to->at));
	memcpy(to->at + to->n, bytes, n);
	to->n += n;
}

static inline void put_word(struct bytes *to, uint64_t word)
{
	put(to, &word, sizeof(word));
}

/* The piece of an object behind another one. */
static inline void put_piece(const void *bytes, size_t n)
{
	static const char zeros[8];

	put_word(&record, n);
	put(&record, bytes, n);
	put(&record, zeros, -n % 8);
}

static inline void put_map(uint16_t type)
{
	char map[16] = { 0 };

	memcpy(map + TYPE_AT, &type, sizeof(type));
	put_piece(map, sizeof(map));
}

/* An array of V8: its number of items is the upper half of the second word. */
static inline void put_array(const void *items, size_t n, size_t item_size)
{
	static struct bytes array;

	array.n = 0;
	put_word(&array, 0);
	put_word(&array, (uint64_t)n << 32);
	put(&array, items, n * item_size);
	put_piece(array.at, array.n);
}

/* Seven bits a byte, of which the first one is the sign (src/codegen/source-position-table.cc). */
static inline void put_number(int64_t number)
{
	uint64_t bits = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);

	for (; bits > 0x7f; bits >>= 7)
		put(&table, &(char){ (char)(bits | 0x80) }, 1);
	put(&table, &(char){ (char)bits }, 1);
}

/* Of the source's first character, within an inlined function; 0: in the code's own. */
static inline uint64_t position_in(uint64_t inlining)
{
	return inlining << 31;
}

/* What a table has from an offset on; the first entry is behind an offset of -1. */
static inline void put_entry(int64_t offset, uint64_t position, bool is_statement)
{
	static int64_t last_offset;
	static uint64_t last_position;

	if (!table.n) {
		last_offset = -1;
		last_position = 0;
	}
	put_number(is_statement ? offset - last_offset : last_offset - offset - 1);
	put_number((int64_t)(position - last_position));
	last_offset = offset;
	last_position = position;
}

static inline void make_table(void)
{
	table.n = 0;
	put_entry(0, position_in(0) + 1234, true);
	put_entry(ONE_INLINED_AT, position_in(1) + 3, false);
	put_entry(TWO_INLINED_AT, position_in(2) + 99999, false);
	put_entry(OWN_AGAIN_AT, position_in(0), true);
	put_entry(RARE_AT, position_in(0), true);
}

static inline uint64_t address_of(uint64_t function)
{
	return FUNCTION + function * STEP;
}

struct inlining {
	uint64_t position; /* of the call */
	int32_t function, reserved;
};

/* The first one is inlined in the code's own function, and the second one in the first. */
static const struct inlining usual_inlinings[] = { { .function = 0 },
						   { .position = 1ULL << 31, .function = 1 } };

static inline void put_code(uint64_t start, uint8_t kind, uint64_t data)
{
	char object[CODE_SIZE] = { 0 };
	const uint32_t length = LENGTH;

	record.n = 0;
	memcpy(object + fields.code_data, &data, sizeof(data));
	memcpy(object + fields.code_start, &start, sizeof(start));
	memcpy(object + fields.code_kind, &kind, sizeof(kind));
	memcpy(object + fields.code_length, &length, sizeof(length));
	put(&record, object, sizeof(object));
	put_map(CODE_TYPE);
}

/* Makes a record of optimized code, with what `table` is. */
static inline void make_optimized(const struct inlining *inlinings, size_t n_inlinings)
{
	const uint64_t functions[] = { address_of(FIRST_INLINED) | 1,
				       address_of(SECOND_INLINED) | 1 };
	const uint64_t identities[] = { IDENTITY, IDENTITY };
	uint64_t data[12] = { [3] = 2ULL << 32, [DATA_OWN / 8] = address_of(OWN) | 1 };

	put_code(JIT, OPTIMIZED, 1);
	put_array(table.at, table.n, 1);
	put_piece(data, sizeof(data));
	put_array(inlinings, n_inlinings * sizeof(*inlinings), 1);
	put_array(functions, 2, sizeof(*functions));
	put_piece(&(uint64_t[]){ 0, address_of(OWN + 1) | 1 }, 16);
	put_piece(identities, sizeof(identities));
}

static inline void make_baseline(uint64_t bytecode)
{
	put_code(JIT_BASELINE, BASELINE, bytecode);
	for (size_t i = V8_CODE_POSITIONS; i < V8_CODE_PIECES_MAX; i++)
		put_piece("", 0);
}

static inline void make_function(uint64_t data)
{
	char object[FUNCTION_SIZE] = { 0 };

	record.n = 0;
	memcpy(object + fields.function_data, &data, sizeof(data));
	put(&record, object, sizeof(object));
	put_map(FUNCTION_TYPE);
}

/* Adds what `record` is. */
static inline void add_record(uint64_t number, uint64_t address)
{
	const struct wire_memory memory = {
		.process = PROCESS,
		.address = address,
		.identity = IDENTITY,
		.number = number,
		.bytes = { record.at, record.n },
	};

	assert_int_equal(scripts_take_memory(&scripts, &memory), 0);
}

static inline void add_runtime(void)
{
	const struct wire_runtime runtime = {
		.process = PROCESS,
		.image = IMAGE,
		.kind = wire_string("v8", 2),
		.layout = wire_string(layout, sizeof(layout) - 1),
	};

	assert_int_equal(scripts_take_runtime(&scripts, &runtime), 0);
	assert_non_null(runtime_table_find(&scripts.runtimes, PROCESS));
	fields = runtime_table_find(&scripts.runtimes, PROCESS)->v8;
}

/* The functions, and the code of both kinds. */
static inline void add_usual_records(void)
{
	for (uint64_t i = 1; i <= N_FUNCTIONS; i++) {
		make_function(i == BUILTIN ? 2 : BYTECODE);
		add_record(i, address_of(i));
	}
	make_table();
	make_optimized(usual_inlinings, 2);
	add_record(OPTIMIZED_NUMBER, OF_OPTIMIZED);
	make_baseline(BYTECODE);
	add_record(BASELINE_NUMBER, OF_BASELINE);
}
