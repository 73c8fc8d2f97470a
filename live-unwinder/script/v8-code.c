/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/script/v8-code.h"
#include "common/script/v8-pieces.h"

enum {
	KIND_MASK = 15,
	OWN_FUNCTION = 8, /* in SharedFunctionInfoWrapper */
	LENGTH = 12,	  /* of arrays: a small integer, which is the upper half of its word */
	/* A position (src/codegen/source-position.h): the number of its inlining. */
	POSITION_INLINING_AT = 31,
	POSITION_INLINING_BITS = 16,
	/* InliningPosition: the position of the call, and which function it calls. */
	INLINING_SIZE = 16,
	INLINING_FUNCTION = 8,
	NUMBER_BYTES_MAX = 10,
};

/* The part of an array's piece that has its items. False: not all of them are there. */
static bool read_items(const struct v8_fields *fields, struct wire_blob *piece, size_t item_size)
{
	uint32_t n;

	if (!memory_field(piece, LENGTH, &n, sizeof(n)) ||
	    piece->size < (uint64_t)fields->items + (uint64_t)n * item_size)
		return false;
	*piece = (struct wire_blob){ (const char *)piece->data + fields->items, n * item_size };
	return true;
}

/* What only optimized code has. */
static bool read_data(const struct v8_fields *fields, struct wire_blob pieces[V8_CODE_PIECES_MAX],
		      struct v8_code *code)
{
	uint32_t n;
	bool has_own = fields->data_own >= 0 ? memory_field(&pieces[V8_CODE_DATA], fields->data_own,
							    &code->own, sizeof(code->own))
					     : memory_field(&pieces[V8_CODE_OWN], OWN_FUNCTION,
							    &code->own, sizeof(code->own));

	if (!has_own ||
	    !memory_field(&pieces[V8_CODE_DATA], fields->data_count + 4, &n, sizeof(n)) ||
	    !read_items(fields, &pieces[V8_CODE_POSITIONS], 1))
		return false;
	code->own &= V8_ADDRESS_MASK;
	code->positions = pieces[V8_CODE_POSITIONS];
	code->n_functions = n;
	if (!n)
		return true;
	if (!read_items(fields, &pieces[V8_CODE_INLININGS], 1) ||
	    pieces[V8_CODE_IDENTITIES].size < n * sizeof(uint64_t) ||
	    pieces[V8_CODE_FUNCTIONS].size < fields->items + n * sizeof(uint64_t))
		return false;
	code->inlinings = pieces[V8_CODE_INLININGS];
	code->identities = pieces[V8_CODE_IDENTITIES];
	code->functions = pieces[V8_CODE_FUNCTIONS];
	return true;
}

static bool read_start(const struct v8_fields *fields, uint64_t address,
		       const struct wire_blob *bytes, uint64_t *ret)
{
	*ret = address + (uint64_t)fields->code_within;
	return fields->code_within >= 0 ||
	       memory_field(bytes, fields->code_start, ret, sizeof(*ret));
}

bool v8_code_read(const struct v8_fields *fields, uint64_t address, const struct wire_blob *bytes,
		  struct v8_code *ret)
{
	struct wire_blob piece[V8_CODE_PIECES_MAX];
	uint32_t length;

	*ret = (struct v8_code){ 0 };
	if (!v8_pieces_read(fields, bytes, fields->code_size, fields->code_type, piece,
			    V8_CODE_PIECES_MAX) ||
	    !read_start(fields, address, bytes, &ret->start) ||
	    !memory_field(bytes, fields->code_length, &length, sizeof(length)) ||
	    !memory_field(bytes, fields->code_kind, &ret->kind, sizeof(ret->kind)) ||
	    !memory_field(bytes, fields->code_data, &ret->data, sizeof(ret->data)))
		return false;
	ret->length = length;
	ret->data &= V8_ADDRESS_MASK;
	ret->kind &= KIND_MASK;
	return ret->kind <= fields->code_baseline || read_data(fields, piece, ret);
}

/* A number of up to 64 bits, seven of them a byte, and its sign in the first bit of all. */
static bool read_number(const uint8_t **at, const uint8_t *end, int64_t *ret)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < NUMBER_BYTES_MAX && *at < end; i++) {
		uint8_t byte = *(*at)++;

		bits |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		*ret = (int64_t)(bits >> 1 ^ -(bits & 1));
		return true;
	}
	return false;
}

/* The distance that a step has: negative ones are those to no statements, or a bit says so. */
static uint64_t length_of(const struct v8_fields *fields, int64_t step)
{
	if (fields->code_steps > 0)
		return (uint64_t)step >> 1;
	return step < 0 ? ~(uint64_t)step : (uint64_t)step;
}

/*
 * The position of an offset in code: that of the last entry in front of it. Entries have the
 * distance to the one before, and whether they are statements (source-position-table.cc).
 * False: there is none, or the table is damaged. Behind the last entry there is code for rare
 * cases, which has no entries of its own: what it is for is not known.
 */
static bool find_position(const struct v8_fields *fields, const struct wire_blob *table,
			  uint64_t offset, uint64_t *ret)
{
	const uint8_t *at = table->data, *end = at + table->size;
	uint64_t place = UINT64_MAX, position = 0; /* before the first byte */
	bool is_found = false;

	while (at < end) {
		int64_t step, change;

		if (!read_number(&at, end, &step) || !read_number(&at, end, &change))
			return false;
		place += length_of(fields, step);
		position += (uint64_t)change;
		if (place > offset)
			return is_found;
		*ret = position;
		is_found = true;
	}
	return false;
}

/* The number of a position's inlining; -1: it is in the code's own function. */
static int64_t inlining_of(uint64_t position)
{
	return (int64_t)(position >> POSITION_INLINING_AT & ((1U << POSITION_INLINING_BITS) - 1)) -
	       1;
}

/* An inlined function, and the position of the call that it has replaced. */
static bool read_inlining(const struct v8_fields *fields, const struct v8_code *code,
			  int64_t number, uint64_t *ret_position, struct v8_inlined *ret)
{
	int32_t function;

	if (!memory_field(&code->inlinings, number * INLINING_SIZE, ret_position,
			  sizeof(*ret_position)) ||
	    !memory_field(&code->inlinings, number * INLINING_SIZE + INLINING_FUNCTION, &function,
			  sizeof(function)) ||
	    function < 0 || (size_t)function >= code->n_functions ||
	    !memory_field(&code->functions, fields->items + function * (int64_t)sizeof(uint64_t),
			  &ret->address, sizeof(ret->address)) ||
	    !memory_field(&code->identities, function * (int64_t)sizeof(uint64_t), &ret->identity,
			  sizeof(ret->identity)))
		return false;
	ret->address &= V8_ADDRESS_MASK;
	return true;
}

int v8_code_find_inlined(const struct v8_fields *fields, const struct v8_code *code,
			 uint64_t offset, struct v8_inlined ret[V8_CALLS_MAX])
{
	uint64_t position;
	int n = 0;

	if (!code->n_functions)
		return 0;
	if (!find_position(fields, &code->positions, offset, &position))
		return -1;
	for (int64_t number = inlining_of(position); number >= 0; number = inlining_of(position)) {
		if (n == V8_CALLS_MAX || !read_inlining(fields, code, number, &position, &ret[n]))
			return -1;
		n++;
	}
	return n;
}
