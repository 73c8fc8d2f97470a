/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "symbolizer/script/cpython-code.h"

enum {
	/* Behind PyObject: PyASCIIObject.length, or ob_size of bytes; */
	LENGTH_AT = 0,
	STATE_AT = 16, /* PyASCIIObject.state: bits of interned, kind, compact, ascii */
	KIND_MASK = 7, /* bytes of a character */
	IS_COMPACT = 1 << 3,
	IS_ASCII = 1 << 4,
	/* PyCompactUnicodeObject has fields behind PyASCIIObject, in 3.11 one more. */
	HEAD_OF_3_11 = 48,
	MORE_IN_3_11 = 24,
	MORE = 16,
	UTF8_MAX = 4,
	SURROGATES = 0xd800,
	SURROGATES_END = 0xe000,
	UNICODE_END = 0x110000,
	REPLACEMENT = 0xfffd,

	/* An entry of a line table: bits of the code and of how many instructions it is for. */
	ENTRY_BEGINS = 0x80,
	ENTRY_CODE_SHIFT = 3,
	ENTRY_CODE_MASK = 15,
	ENTRY_LENGTH_MASK = 7,
	CODE_ONE_LINE = 10, /* to 12: that less is the difference of lines */
	CODE_NO_COLUMNS = 13,
	CODE_LONG = 14,
	CODE_NONE = 15,
	VARINT_BITS = 6,
	VARINT_MORE = 0x40,

	/* Of earlier line tables. */
	CODE_UNIT = 2, /* bytes of an instruction */
	RANGE_WITHOUT_LINE = -128,
};

static char *put_utf8(char *at, uint32_t c)
{
	static const uint8_t leads[UTF8_MAX + 1] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (int i = n - 1; i > 0; i--, c >>= 6)
		at[i] = 0x80 | (c & 0x3f);
	at[0] = leads[n] | c;
	return at + n;
}

static uint32_t valid(uint64_t c)
{
	return c >= UNICODE_END || (c >= SURROGATES && c < SURROGATES_END) || !c ? REPLACEMENT : c;
}

/* Decodes as much of a string as was read. An empty text: not in memory. */
static void decode_text(const struct cpython_fields *fields, const struct wire_blob *object,
			char ret[SCRIPT_TEXT_MAX])
{
	const char *bytes = object->data;
	uint64_t n, state, kind, at = fields->text, head = fields->object;
	char *to = ret;

	*to = 0;
	if (object->size < head + STATE_AT + sizeof(uint32_t))
		return;
	n = memory_number(bytes + head + LENGTH_AT, sizeof(n));
	state = memory_number(bytes + head + STATE_AT, sizeof(uint32_t)) >> fields->text_kind;
	kind = state & KIND_MASK;
	if (!(state & IS_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return;
	if (!(state & IS_ASCII))
		at += fields->text == HEAD_OF_3_11 ? MORE_IN_3_11 : MORE;
	for (uint64_t i = 0; i < n && at + kind <= object->size; i++, at += kind) {
		if (to - ret >= SCRIPT_TEXT_MAX - UTF8_MAX - 1)
			break;
		to = put_utf8(to, valid(memory_number(bytes + at, kind)));
	}
	*to = 0;
}

bool cpython_code_decode(const struct cpython_fields *fields, const struct wire_memory *record,
			 struct cpython_code *ret)
{
	const char *bytes = record->bytes.data;
	struct memory_pieces pieces;
	struct wire_blob name, file, lines;
	uint64_t size;

	if (fields->code_firstline > fields->code_size - (int64_t)sizeof(uint32_t) ||
	    !memory_pieces_begin(&record->bytes, fields->code_size, &pieces) ||
	    !memory_pieces_next(&pieces, &name) || !memory_pieces_next(&pieces, &file) ||
	    !memory_pieces_next(&pieces, &lines))
		return false;
	*ret = (struct cpython_code){ 0 };
	ret->lines.first_line = memory_number(bytes + fields->code_firstline, sizeof(uint32_t));
	if (fields->code_lines > 0)
		ret->lines.form = fields->code_lines;
	decode_text(fields, &name, ret->text.name);
	decode_text(fields, &file, ret->text.file);
	if (lines.size < (size_t)fields->bytes ||
	    lines.size < fields->object + LENGTH_AT + sizeof(size))
		return true;
	size = memory_number((const char *)lines.data + fields->object + LENGTH_AT, sizeof(size));
	ret->lines.bytes = (const uint8_t *)lines.data + fields->bytes;
	ret->lines.size = lines.size - fields->bytes;
	ret->lines.is_cut = size > ret->lines.size;
	if (!ret->lines.is_cut)
		ret->lines.size = size;
	return true;
}

/* A number of six bits a byte, the lowest first, of which the lowest one is the sign. */
static int64_t read_signed(const uint8_t *at, const uint8_t *end)
{
	uint64_t number = 0;
	unsigned int shift = 0;

	while (at < end && shift < 32) {
		uint8_t byte = *at++;

		number |= (uint64_t)(byte & (VARINT_MORE - 1)) << shift;
		shift += VARINT_BITS;
		if (!(byte & VARINT_MORE))
			break;
	}
	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* How many lines further the instructions of an entry are. */
static int64_t line_difference(uint8_t code, const uint8_t *at, const uint8_t *end)
{
	if (code >= CODE_ONE_LINE && code < CODE_NO_COLUMNS)
		return code - CODE_ONE_LINE;
	return code == CODE_NO_COLUMNS || code == CODE_LONG ? read_signed(at, end) : 0;
}

static uint32_t valid_line(int64_t line)
{
	return line < 0 || line > UINT32_MAX ? 0 : line;
}

static uint32_t find_location(const struct script_lines *lines, uint64_t instruction)
{
	const uint8_t *at = lines->bytes, *end = at + lines->size;
	int64_t line = lines->first_line;
	uint64_t covered = 0;

	while (at < end && (*at & ENTRY_BEGINS)) {
		uint8_t head = *at++, code = head >> ENTRY_CODE_SHIFT & ENTRY_CODE_MASK;

		line += line_difference(code, at, end);
		covered += (head & ENTRY_LENGTH_MASK) + 1;
		if (instruction <= covered)
			return code == CODE_NONE ? 0 : valid_line(line);
		while (at < end && !(*at & ENTRY_BEGINS))
			at++;
	}
	return 0;
}

/* Pairs: so many bytes of instructions further, the line is so many more. */
static uint32_t find_in_lnotab(const struct script_lines *lines, uint64_t instruction)
{
	uint64_t offset = (instruction - 1) * CODE_UNIT, covered = 0;
	int64_t line = lines->first_line;

	for (size_t i = 0; i + 2 <= lines->size; i += 2) {
		covered += lines->bytes[i];
		if (covered > offset)
			return valid_line(line);
		line += (int8_t)lines->bytes[i + 1];
	}
	return lines->is_cut ? 0 : valid_line(line);
}

/* Pairs: so many bytes of instructions have a line that is so many more than the one before. */
static uint32_t find_range(const struct script_lines *lines, uint64_t instruction)
{
	uint64_t offset = (instruction - 1) * CODE_UNIT, covered = 0;
	int64_t line = lines->first_line;

	for (size_t i = 0; i + 2 <= lines->size; i += 2) {
		int8_t difference = lines->bytes[i + 1];

		covered += lines->bytes[i];
		if (difference != RANGE_WITHOUT_LINE)
			line += difference;
		if (covered > offset)
			return difference == RANGE_WITHOUT_LINE ? 0 : valid_line(line);
	}
	return 0;
}

uint32_t cpython_lines_find(const struct script_lines *lines, uint64_t instruction)
{
	if (!instruction)
		return lines->first_line;
	if (!lines->bytes) /* it was not in memory */
		return 0;
	switch (lines->form) {
	case CPYTHON_LINES_LOCATIONS:
		return find_location(lines, instruction);
	case CPYTHON_LINES_LNOTAB:
		return find_in_lnotab(lines, instruction);
	case CPYTHON_LINES_RANGES:
		return find_range(lines, instruction);
	}
	return 0; /* a later version's */
}
