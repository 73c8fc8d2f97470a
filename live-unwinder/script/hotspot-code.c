/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/memory-pieces.h"
#include "common/script/script-walk.h"
#include "common/script/unsigned5.h"
#include "live-unwinder/script/hotspot-code.h"

enum {
	DESCRIPTION_SIZE = 16, /* PcDesc: */
	DESCRIPTION_SCOPE = 4,
	ENDS = 2,	  /* descriptions in front of all others, and behind them */
	CALLEE_SIZE = 16, /* address and identity */
	CALLEE_IDENTITY = 8,
	NUMBERS = 3, /* of a scope: its caller's place, its method, and the bytecode */
};

/* The parts of code that is open. */
struct opened {
	const struct hotspot_code *code;
	struct wire_blob object;
	uint64_t begin, rare, pcs, pcs_end, scopes, scopes_end, metadata, metadata_end;
	struct wire_blob callees;
};

static bool find_bytes(const struct hotspot_code *code, uint64_t address, struct wire_blob *ret)
{
	struct script_code_view view = { 0 };

	return code_table_find(code->codes, code->process, address, code->identity, &view) ==
		       CODE_IS_KNOWN &&
	       view.trait != 0 && code_table_find_bytes(code->codes, view.number, ret);
}

static bool find_site(const struct opened *opened, const struct script_site *site, uint64_t *ret)
{
	uint32_t further = 0, offset = 0;

	*ret = opened->code->address;
	return (site->pointer < 0 ||
		memory_field(&opened->object, site->pointer, ret, sizeof(*ret))) &&
	       (site->further < 0 ||
		memory_field(&opened->object, site->further, &further, sizeof(further))) &&
	       (site->offset < 0 || memory_field(&opened->object, site->offset, &offset,
						 site->offset_size == 2 ? 2 : sizeof(offset))) &&
	       (*ret += (uint64_t)further + offset) != 0;
}

static bool open_code(const struct hotspot_code *code, struct opened *ret)
{
	const struct hotspot_fields *fields = code->fields;

	*ret = (struct opened){ .code = code };
	return find_bytes(code, code->address, &ret->object) &&
	       find_site(ret, &fields->code_begin, &ret->begin) &&
	       find_site(ret, &fields->rare, &ret->rare) &&
	       find_site(ret, &fields->pcs, &ret->pcs) &&
	       find_site(ret, &fields->pcs_end, &ret->pcs_end) &&
	       find_site(ret, &fields->scopes, &ret->scopes) &&
	       find_site(ret, &fields->scopes_end, &ret->scopes_end) &&
	       find_site(ret, &fields->metadata, &ret->metadata) &&
	       find_site(ret, &fields->metadata_end, &ret->metadata_end) &&
	       find_bytes(code, ret->metadata + 1, &ret->callees);
}

/* Reads bytes of a range, which lies in pieces. Returns how many are there. */
static size_t read_range(const struct opened *opened, uint64_t from, uint64_t to, uint64_t offset,
			 void *ret, size_t size)
{
	struct wire_blob piece;
	size_t n = 0;

	while (n < size && from + offset < to) {
		uint64_t in_piece = offset % WALK_CHUNK_SIZE, left;

		if (!find_bytes(opened->code, from + offset - in_piece, &piece) ||
		    piece.size <= in_piece)
			break;
		left = piece.size - in_piece;
		if (left > size - n)
			left = size - n;
		memcpy((char *)ret + n, (const char *)piece.data + in_piece, left);
		n += left;
		offset += left;
	}
	return n;
}

/* The offset of the code that a description is of. */
static bool read_description(const struct opened *opened, uint64_t i, int32_t *ret_pc,
			     int32_t *ret_scope)
{
	char bytes[DESCRIPTION_SIZE];

	if (read_range(opened, opened->pcs, opened->pcs_end, i * DESCRIPTION_SIZE, bytes,
		       sizeof(bytes)) != sizeof(bytes))
		return false;
	memcpy(ret_pc, bytes, sizeof(*ret_pc));
	memcpy(ret_scope, bytes + DESCRIPTION_SCOPE, sizeof(*ret_scope));
	return true;
}

/* The first description at an offset, or behind it. False: they are not all there. */
static bool find_description(const struct opened *opened, int64_t offset, uint64_t *ret)
{
	uint64_t low = 0, high = (opened->pcs_end - opened->pcs) / DESCRIPTION_SIZE;
	int32_t pc, scope;

	if (opened->pcs_end < opened->pcs)
		return false;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_description(opened, middle, &pc, &scope))
			return false;
		if (pc < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low;
	return true;
}

static bool read_numbers(const struct opened *opened, const uint8_t *at, size_t size, uint32_t *ret)
{
	const uint8_t *end = at + size;

	for (size_t i = 0; i < NUMBERS; i++)
		if (!unsigned5_read(&at, end, opened->code->fields->excluded, &ret[i]))
			return false;
	return true;
}

/* The method that a number of the code stands for. */
static bool find_method(const struct opened *opened, uint32_t number, struct hotspot_scope *ret)
{
	if (!number || read_range(opened, opened->metadata, opened->metadata_end,
				  (number - 1ULL) * sizeof(ret->method), &ret->method,
				  sizeof(ret->method)) != sizeof(ret->method))
		return false;
	for (size_t at = 0; at + CALLEE_SIZE <= opened->callees.size; at += CALLEE_SIZE) {
		const char *callee = (const char *)opened->callees.data + at;

		if (memcmp(callee, &ret->method, sizeof(ret->method)) != 0)
			continue;
		memcpy(&ret->identity, callee + CALLEE_IDENTITY, sizeof(ret->identity));
		return true;
	}
	return false;
}

/* Reads a scope, and those of its callers. Returns their number; -1: they are damaged. */
static int read_scopes(const struct opened *opened, uint32_t at,
		       struct hotspot_scope ret[HOTSPOT_SCOPES_MAX])
{
	int n = 0;

	while (at) {
		uint8_t bytes[NUMBERS * UNSIGNED5_BYTES_MAX];
		uint32_t numbers[NUMBERS];
		size_t size = read_range(opened, opened->scopes, opened->scopes_end, at, bytes,
					 sizeof(bytes));

		if (n == HOTSPOT_SCOPES_MAX || !read_numbers(opened, bytes, size, numbers) ||
		    !find_method(opened, numbers[1], &ret[n]) || numbers[0] >= at)
			return -1;
		/* One more than the bytecode's number. */
		ret[n++].place = numbers[2] <= HOTSPOT_BYTECODES_MAX ? numbers[2] : 0;
		at = numbers[0];
	}
	return n;
}

/* The code's own method: all that is known without descriptions. */
static int own_method(const struct opened *opened, struct hotspot_scope ret[HOTSPOT_SCOPES_MAX])
{
	uint64_t own;

	if (opened->callees.size < CALLEE_SIZE ||
	    !memory_field(&opened->object, opened->code->fields->code_method, &own, sizeof(own)) ||
	    memcmp(&own, opened->callees.data, sizeof(own)) != 0)
		return -1;
	memcpy(&ret->method, opened->callees.data, sizeof(ret->method));
	memcpy(&ret->identity, (const char *)opened->callees.data + CALLEE_IDENTITY,
	       sizeof(ret->identity));
	ret->place = 0;
	return 1;
}

/* Whether all instructions are described up to an offset: the next description is theirs. */
static bool are_described(const struct opened *opened, enum hotspot_at at, int64_t offset,
			  int32_t next)
{
	return opened->code->fields->dense == 1 || (at != HOTSPOT_AT_ANY && next == offset);
}

/* Whether methods can be inlined into the code. Without descriptions it is made for a native one.
 */
static bool has_descriptions(const struct opened *opened)
{
	return opened->pcs_end < opened->pcs ||
	       opened->pcs_end - opened->pcs > ENDS * DESCRIPTION_SIZE;
}

int hotspot_code_find(const struct hotspot_code *code, uint64_t pc, enum hotspot_at at,
		      struct hotspot_scope ret[HOTSPOT_SCOPES_MAX])
{
	struct opened opened;
	int32_t next, scope;
	int64_t offset;
	uint64_t i;
	int n = 0;

	if (!open_code(code, &opened) || pc >= opened.rare || pc - opened.begin > INT32_MAX)
		return -1;
	offset = pc - opened.begin;
	if (find_description(&opened, offset, &i) && read_description(&opened, i, &next, &scope) &&
	    are_described(&opened, at, offset, next))
		n = read_scopes(&opened, scope, ret);
	if (n)
		return n;
	if (at == HOTSPOT_AT_CALL_OF_METHOD && has_descriptions(&opened))
		return -1;
	return own_method(&opened, ret);
}
