/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of JavaScript in V8's frames. */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* What is recorded: traits of objects (code-table.h). */
enum v8_object {
	V8_NOTHING,
	V8_FUNCTION, /* in JavaScript */
	V8_BUILTIN,  /* a function that V8 brings along */
	V8_CODE,     /* of a compiler; its bytes are kept */
};

enum v8_object v8_object_of(const struct v8_fields *fields, const struct wire_memory *record);

/* Each frame is a segment of its own; SCRIPT_PARTLY: some have functions that are not known. */
enum script_outcome v8_walk_read(const struct v8_fields *fields, const struct code_table *codes,
				 const struct wire_sample *sample, struct script_stack *ret);
