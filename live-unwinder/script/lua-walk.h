/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread executes of Lua: the calls of a coroutine, and those of what has resumed it. Calls
 * that are fresh end what one activation of the loop executes. C functions have calls, too, which
 * are left out.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* What a recorded function has: where its code begins, as far as places need it; 0: it is none. */
uint64_t lua_code_begin(const struct lua_fields *fields, const struct wire_memory *record);

/* Reads the walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome lua_walk_read(const struct lua_fields *fields, const struct code_table *codes,
				  const struct wire_sample *sample, struct script_stack *ret);
