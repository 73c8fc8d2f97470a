/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/v8-pieces.h"
#include "symbolizer/script/v8-function.h"

enum {
	SCOPE_KIND = 15, /* enum ScopeType (src/common/globals.h) */
	POSITION = 24,	 /* behind the word of a function's name, if the scope has it there */
	/* UTF-16: units of two surrogates make a character, */
	HIGH_SURROGATE = 0xd800,
	LOW_SURROGATE = 0xdc00,
	SURROGATES_END = 0xe000,
	SURROGATE_MASK = 0xfc00,
	SURROGATE_BITS = 10,
	BEYOND_UNITS = 0x10000,
	REPLACEMENT = 0xfffd,
	/* and UTF-8 has up to four bytes of one. */
	UTF8_MAX = 4,
	UTF8_TWO = 0x80,
	UTF8_THREE = 0x800,
	UTF8_MORE = 0x3f,
	UTF8_SHIFT = 6,
};

/* Appends a character to `to`, which has room for UTF8_MAX bytes. Returns the bytes. */
static size_t put_character(uint32_t character, char *to)
{
	static const uint8_t first[UTF8_MAX + 1] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = character < UTF8_TWO	      ? 1
		   : character < UTF8_THREE   ? 2
		   : character < BEYOND_UNITS ? 3
					      : UTF8_MAX;

	for (size_t i = n; i-- > 1; character >>= UTF8_SHIFT)
		to[i] = (char)(UTF8_TWO | (character & UTF8_MORE));
	to[0] = (char)(first[n] | character);
	return n;
}

/*
 * The character at `*i`, behind which that is then. JavaScript allows surrogates of which the other
 * one is missing.
 */
static uint32_t next_character(const struct wire_blob *text, size_t *i, size_t n, size_t unit)
{
	uint32_t character = memory_unit(text, (*i)++, unit), low;

	if (character < HIGH_SURROGATE || character >= SURROGATES_END)
		return character;
	low = *i < n ? memory_unit(text, *i, unit) : 0;
	if (character >= LOW_SURROGATE || (low & SURROGATE_MASK) != LOW_SURROGATE)
		return REPLACEMENT;
	++*i;
	return BEYOND_UNITS + ((character & ~SURROGATE_MASK) << SURROGATE_BITS) +
	       (low & ~SURROGATE_MASK);
}

/* Copies the text of a string as UTF-8, as far as it was read. */
static void copy_text(const struct wire_blob *string, uint16_t type, char ret[SCRIPT_TEXT_MAX])
{
	struct wire_blob text = { (const char *)string->data + V8_STRING_TEXT_AT,
				  string->size - V8_STRING_TEXT_AT };
	size_t unit = type & V8_STRING_ONE_BYTE ? 1 : 2, n_read = text.size / unit, used = 0;
	uint32_t n = memory_number((const char *)string->data + V8_STRING_LENGTH_AT, sizeof(n));

	n = n < n_read ? n : n_read;
	for (size_t i = 0; i < n && used < SCRIPT_TEXT_MAX - 1 - UTF8_MAX;) {
		uint32_t character = next_character(&text, &i, n, unit);

		if (!character)
			break;
		used += put_character(character, ret + used);
	}
	ret[used] = 0;
}

/* Reads a string whose text is in it. False: it is none, or of another kind. */
static bool read_string(const struct v8_fields *fields, const struct wire_blob *string,
			const struct wire_blob *map, char ret[SCRIPT_TEXT_MAX])
{
	uint16_t type;

	if (string->size < V8_STRING_TEXT_AT || !v8_map_type(fields, map, &type) ||
	    (type & V8_STRING_NONE) || (type & V8_STRING_REPRESENTATION) != V8_STRING_SEQUENTIAL)
		return false;
	copy_text(string, type, ret);
	return true;
}

/*
 * Whether a string has the text of the next one: it leads to that, or was made of parts of which
 * the second is empty now.
 */
static bool leads_to(const struct v8_fields *fields, const struct wire_blob *string,
		     const struct wire_blob *map, const struct wire_blob *next)
{
	uint32_t length, next_length;
	uint16_t type;

	if (!v8_map_type(fields, map, &type) || (type & V8_STRING_NONE) ||
	    !memory_field(string, V8_STRING_LENGTH_AT, &length, sizeof(length)) ||
	    !memory_field(next, V8_STRING_LENGTH_AT, &next_length, sizeof(next_length)))
		return false;
	return (type & V8_STRING_REPRESENTATION) == V8_STRING_THIN ||
	       ((type & V8_STRING_REPRESENTATION) == V8_STRING_CONS && length == next_length);
}

/* The file's name is one of three strings, each of which the one before leads to. */
static void read_file(const struct v8_fields *fields,
		      const struct wire_blob piece[V8_FUNCTION_PIECES_MAX],
		      char ret[SCRIPT_TEXT_MAX])
{
	for (size_t i = V8_FUNCTION_FILE; i <= V8_FUNCTION_LAST; i += 2) {
		const struct wire_blob *string = &piece[i], *map = &piece[i + 1];

		if (read_string(fields, string, map, ret) || i == V8_FUNCTION_LAST ||
		    !leads_to(fields, string, map, &piece[i + 2]))
			return;
	}
}

/* A small integer: in the upper half of a word. False: the word is none. */
static bool read_number(const struct wire_blob *bytes, int64_t at, int32_t *ret)
{
	int64_t word;

	if (at < 0 || !memory_field(bytes, at, &word, sizeof(word)) || (uint32_t)word)
		return false;
	*ret = (int32_t)(word >> 32);
	return true;
}

/* Whether a scope is that of a function: else it is of all of a text, as a module is. */
static bool is_of_function(const struct v8_fields *fields, const struct wire_blob *scope)
{
	uint8_t flags;

	return !memory_field(scope, fields->scope_flags, &flags, sizeof(flags)) ||
	       (flags & SCOPE_KIND) == fields->scope_function;
}

/* Whether a function has a name of its own: instead, zero says that it is computed as it is made.
 */
static bool has_own_name(const struct wire_blob piece[V8_FUNCTION_PIECES_MAX])
{
	int32_t number;

	return !read_number(&piece[V8_FUNCTION_WORDS], 0, &number);
}

/*
 * A function without a name has that by which the parser knows it, if there is one. Where the scope
 * of all of a text may have names, is something else.
 */
static void read_name(const struct v8_fields *fields,
		      const struct wire_blob piece[V8_FUNCTION_PIECES_MAX],
		      char ret[SCRIPT_TEXT_MAX])
{
	if (fields->script_line >= 0 && !is_of_function(fields, &piece[V8_FUNCTION_SCOPE])) {
		strcpy(ret, V8_ANONYMOUS);
		return;
	}
	if (has_own_name(piece) &&
	    (!read_string(fields, &piece[V8_FUNCTION_NAME], &piece[V8_FUNCTION_NAME_MAP], ret) ||
	     *ret))
		return;
	if (!read_string(fields, &piece[V8_FUNCTION_INFERRED], &piece[V8_FUNCTION_INFERRED_MAP],
			 ret) ||
	    !*ret)
		strcpy(ret, V8_ANONYMOUS);
}

/* How many characters are in front of a function. */
static bool read_position(const struct v8_fields *fields,
			  const struct wire_blob piece[V8_FUNCTION_PIECES_MAX], uint32_t *ret)
{
	const struct wire_blob *of = &piece[V8_FUNCTION_WORDS];
	int64_t at = POSITION;
	int32_t begin, end;

	*ret = 0;
	if (fields->scope_position >= 0) {
		of = &piece[V8_FUNCTION_SCOPE];
		at = fields->scope_position;
	}
	if (!is_of_function(fields, &piece[V8_FUNCTION_SCOPE]))
		return true;
	if (!read_number(of, at, &begin) || !read_number(of, at + sizeof(uint64_t), &end) ||
	    begin < 0 || end < begin)
		return false;
	*ret = begin;
	return true;
}

/* Where a function begins, in which script. */
static void read_origin(const struct v8_fields *fields, const struct wire_memory *record,
			const struct wire_blob piece[V8_FUNCTION_PIECES_MAX],
			struct script_origin *ret)
{
	struct script_origin origin = { .source.process = record->process };

	if (!memory_field(&record->bytes, fields->function_script, &origin.source.owner,
			  sizeof(origin.source.owner)) ||
	    !memory_field(&piece[V8_FUNCTION_SOURCE], 0, &origin.source.identity,
			  sizeof(origin.source.identity)) ||
	    !read_number(&piece[V8_FUNCTION_SCRIPT], fields->script_line, &origin.first_line) ||
	    !read_position(fields, piece, &origin.position))
		return;
	origin.source.owner &= V8_ADDRESS_MASK;
	*ret = origin;
}

bool v8_function_decode(const struct v8_fields *fields, const struct wire_memory *record,
			struct script_code_text *ret, struct script_origin *ret_origin)
{
	size_t n = fields->script_line < 0 ? V8_FUNCTION_WORDS : V8_FUNCTION_PIECES_MAX;
	struct wire_blob piece[V8_FUNCTION_PIECES_MAX] = { 0 };

	*ret_origin = (struct script_origin){ 0 };
	*ret->name = *ret->file = 0;
	if (!v8_pieces_read(fields, &record->bytes, fields->function_size, fields->function_type,
			    piece, n))
		return false;
	if (fields->script_line >= 0)
		read_origin(fields, record, piece, ret_origin);
	read_name(fields, piece, ret->name);
	read_file(fields, piece, ret->file);
	return true;
}
