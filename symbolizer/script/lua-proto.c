/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/script/lua-proto.h"

enum {
	/* lobject.h: where a string has its type, and the type of short ones. */
	TYPE_AT = 8,
	SHORT_STRING = 4,
	REGULAR = 0xff, /* from 5.5 on: one whose text is not elsewhere (LSTRREG) */
	/* ldebug.h: instead of a difference of lines, a mark has the line (AbsLineInfo). */
	MARKED = -128,
	MARK = 8,
	MARK_LINE = 4,
};

void lua_source_take(const struct wire_blob *piece, size_t from, size_t length,
		     char ret[SCRIPT_TEXT_MAX])
{
	const char *text = (const char *)piece->data + from;
	size_t n_read = piece->size > from ? piece->size - from : 0;

	length = length < n_read ? length : n_read;
	length = length < SCRIPT_TEXT_MAX - 1 ? length : SCRIPT_TEXT_MAX - 1;
	length = strnlen(text, length);
	memcpy(ret, text, length);
	ret[length] = 0;
	ret[strcspn(ret, "\n")] = 0;
}

/* Empty: it was not in memory. */
static void decode_source(const struct lua_fields *fields, const struct wire_blob *piece,
			  char ret[SCRIPT_TEXT_MAX])
{
	size_t length, from = fields->text;
	uint8_t type, n;

	if (!memory_field(piece, TYPE_AT, &type, sizeof(type)) ||
	    !memory_field(piece, fields->text_short, &n, sizeof(n)) ||
	    !memory_field(piece, fields->text_long, &length, sizeof(length)))
		return;
	if (type == SHORT_STRING)
		length = n;
	else
		from = fields->text_far;
	if (type == SHORT_STRING || from == (size_t)fields->text || n == REGULAR)
		lua_source_take(piece, from, length, ret);
}

/* The line of a mark at an instruction; 0: it was not read. */
static uint32_t find_mark(const struct wire_blob *marks, uint32_t pc)
{
	for (size_t at = 0; at + MARK <= marks->size; at += MARK)
		if (memory_number((const char *)marks->data + at, sizeof(pc)) == pc)
			return memory_number((const char *)marks->data + at + MARK_LINE,
					     sizeof(uint32_t));
	return 0;
}

/* The line of each instruction, as far as it was read. 0 or -ENOMEM. */
static int make_lines(const struct wire_blob *differences, const struct wire_blob *marks,
		      struct script_lines *ret)
{
	const int8_t *bytes = differences->data;
	uint32_t line = ret->first_line, *lines = calloc(differences->size + 1, sizeof(*lines));
	size_t n = 0;

	if (!lines)
		return -ENOMEM;
	for (; n < differences->size; n++) {
		line = bytes[n] == MARKED ? find_mark(marks, n) : line + bytes[n];
		if (!line)
			break;
		lines[n] = line;
	}
	ret->bytes = (const uint8_t *)lines;
	ret->size = n * sizeof(*lines);
	return 0;
}

void lua_proto_name(const char *source, uint32_t line, struct script_code_text *ret)
{
	const char *shown = *source == '@' || *source == '=' ? source + 1 : "string";

	if (!*source)
		return;
	if (*source == '@')
		strcpy(ret->file, shown);
	if (line)
		snprintf(ret->name, sizeof(ret->name), "function <%.900s:%u>", shown, line);
	else
		snprintf(ret->name, sizeof(ret->name), "main chunk <%.900s>", shown);
}

int lua_proto_decode(const struct lua_fields *fields, const struct wire_memory *record,
		     struct script_code_text *ret, struct script_lines *ret_lines)
{
	struct wire_blob source, differences, marks = { 0 };
	char text[SCRIPT_TEXT_MAX] = "";
	struct memory_pieces pieces;

	*ret = (struct script_code_text){ 0 };
	*ret_lines = (struct script_lines){ 0 };
	if (fields->proto_size < (int64_t)sizeof(uint32_t) ||
	    fields->proto_line > fields->proto_size - (int64_t)sizeof(uint32_t) ||
	    !memory_pieces_begin(&record->bytes, fields->proto_size, &pieces) ||
	    !memory_pieces_next(&pieces, &source) || !memory_pieces_next(&pieces, &differences))
		return 1;
	memory_pieces_next(&pieces, &marks); /* most functions have none */
	ret_lines->first_line = memory_number((const char *)record->bytes.data + fields->proto_line,
					      sizeof(uint32_t));
	decode_source(fields, &source, text);
	lua_proto_name(text, ret_lines->first_line, ret);
	return make_lines(&differences, &marks, ret_lines);
}

uint32_t lua_lines_find(const struct script_lines *lines, uint64_t place)
{
	uint32_t line;

	if (!place || place > lines->size / sizeof(line))
		return place ? 0 : lines->first_line;
	memcpy(&line, lines->bytes + (place - 1) * sizeof(line), sizeof(line));
	return line;
}
