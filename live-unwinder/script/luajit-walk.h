/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread executes of LuaJIT: the frames of a coroutine, and those of what has resumed it. A
 * frame that C has called ends what one frame in C executes. Functions of C, and those that are
 * part of the interpreter, have frames, too, which are left out.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* How many instructions a recorded function has; 0: it is none. */
uint64_t luajit_code_size(const struct luajit_fields *fields, const struct wire_memory *record);

/* Reads the walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome luajit_walk_read(const struct runtime_fields *fields,
				     const struct code_table *codes,
				     const struct script_thread *thread, struct script_stack *ret);
