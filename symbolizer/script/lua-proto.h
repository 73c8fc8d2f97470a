/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of Lua, as memory records have them. All of it is the target's. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

/*
 * Functions of Lua have no name: as Lua's own messages do, it is "function <FILE:LINE>", or "main
 * chunk". `lines.bytes` is to be freed. 0, -ENOMEM, or 1: the record is none of a function.
 */
int lua_proto_decode(const struct lua_fields *fields, const struct wire_memory *record,
		     struct script_code_text *ret, struct script_lines *ret_lines);

/*
 * Takes the first line of a source of so many characters, which lies so many bytes behind the begin
 * of a piece, as far as it was read.
 */
void lua_source_take(const struct wire_blob *piece, size_t from, size_t length,
		     char ret[SCRIPT_TEXT_MAX]);

/*
 * Names a function that begins in a line (0: a main chunk) of a source, as Lua keeps that: "@FILE",
 * "=what is shown", or the text itself. Empty: it is not known.
 */
void lua_proto_name(const char *source, uint32_t line, struct script_code_text *ret);

/* The line of an instruction, from 1 on; 0: the function has not begun. */
uint32_t lua_lines_find(const struct script_lines *lines, uint64_t place);
