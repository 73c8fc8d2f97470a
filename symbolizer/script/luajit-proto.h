/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of LuaJIT, as memory records have them. All of it is the target's. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

/*
 * They are named as those of Lua (lua-proto.h), and have their lines in the same form, for
 * lua_lines_find(). `lines.bytes` is to be freed. 0, -ENOMEM, or 1: the record is none of a
 * function.
 */
int luajit_proto_decode(const struct luajit_fields *fields, const struct wire_memory *record,
			struct script_code_text *ret, struct script_lines *ret_lines);
