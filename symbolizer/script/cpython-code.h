/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code objects of CPython 3.8 to 3.15, as memory records have them: names, and the line of each
 * instruction. All of it is the target's.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

struct cpython_code {
	struct script_code_text text; /* in UTF-8; the name is qualified since 3.11 */
	struct script_lines lines;    /* borrowed from the record; `form`: cpython_line_form */
};

/* False: the record is none of code. */
bool cpython_code_decode(const struct cpython_fields *fields, const struct wire_memory *record,
			 struct cpython_code *ret);

/*
 * The line of an instruction, counted from 1 on; 0: what comes before the first has the line of the
 * function. Returns 0: it has none, or the table ends before it.
 */
uint32_t cpython_lines_find(const struct script_lines *lines, uint64_t instruction);
