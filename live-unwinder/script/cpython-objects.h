/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of CPython 3.8 to 3.10 executes, by the walk of a sample. Frames are objects, and
 * each is executed by an activation of its own, which holds the object's address. As a function is
 * entered and left, the innermost activation has no frame.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* As cpython_walk_read(). */
enum script_outcome cpython_objects_read(const struct cpython_fields *fields,
					 const struct code_table *codes,
					 const struct wire_sample *sample,
					 struct script_stack *ret);
