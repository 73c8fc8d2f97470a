/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of JavaScript, as memory records have them (common/script/v8-pieces.h). */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"
#include "symbolizer/script/script-sources.h"

/* The name of a function that the script gives none, and with the line where it begins. */
#define V8_ANONYMOUS "(anonymous)"
#define V8_ANONYMOUS_AT "(anonymous:%u)"

/*
 * The name and the file of a function, and where it begins in its script (older recordings do not
 * tell). False: the record is damaged, or that of other things.
 */
bool v8_function_decode(const struct v8_fields *fields, const struct wire_memory *record,
			struct script_code_text *ret, struct script_origin *ret_origin);
