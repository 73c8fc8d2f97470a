/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "symbolizer/script/lua-proto.h"
#include "symbolizer/script/luajit-proto.h"

enum {
	/* lj_debug_line(): lines are counted from the first one on, in as few bytes as they need.
	 */
	ONE_BYTE = 1 << 8,
	TWO_BYTES = 1 << 16,
};

static size_t unit_of(uint32_t n_lines)
{
	if (n_lines < ONE_BYTE)
		return 1;
	return n_lines < TWO_BYTES ? 2 : 4;
}

/* The line of each instruction, as far as it was read. 0 or -ENOMEM. */
static int make_lines(const struct wire_blob *piece, uint32_t n_lines, struct script_lines *ret)
{
	size_t unit = unit_of(n_lines), n = piece->size / unit;
	uint32_t *lines = calloc(n + 1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		lines[i] = ret->first_line + memory_unit(piece, i, unit);
	ret->bytes = (const uint8_t *)lines;
	ret->size = n * sizeof(*lines);
	return 0;
}

int luajit_proto_decode(const struct luajit_fields *fields, const struct wire_memory *record,
			struct script_code_text *ret, struct script_lines *ret_lines)
{
	char text[SCRIPT_TEXT_MAX] = "";
	struct wire_blob source, lines;
	struct memory_pieces pieces;
	uint32_t n_lines, length;

	*ret = (struct script_code_text){ 0 };
	*ret_lines = (struct script_lines){ 0 };
	if (!memory_pieces_begin(&record->bytes, fields->proto_size, &pieces) ||
	    !memory_field(&record->bytes, fields->proto_line, &ret_lines->first_line,
			  sizeof(ret_lines->first_line)) ||
	    !memory_field(&record->bytes, fields->proto_lines, &n_lines, sizeof(n_lines)) ||
	    !memory_pieces_next(&pieces, &source) || !memory_pieces_next(&pieces, &lines))
		return 1;
	if (memory_field(&source, fields->text_length, &length, sizeof(length)))
		lua_source_take(&source, fields->text, length, text);
	lua_proto_name(text, ret_lines->first_line, ret);
	return make_lines(&lines, n_lines, ret_lines);
}
