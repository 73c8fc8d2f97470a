/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code of Ruby 3 (iseq), as memory records have it. All of it is the target's. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

struct ruby_code {
	struct script_code_text text; /* the label, as Ruby itself shows it in backtraces */
	struct script_lines lines;
	uint8_t *bytes; /* of `lines`; owned */
};

/* 0; 1: the record is none of code; -ENOMEM. The caller frees the bytes. */
int ruby_code_decode(const struct ruby_fields *fields, const struct wire_memory *record,
		     struct ruby_code *ret);

/*
 * The line of a place: how many words of code are before what is executed next. 0: there is none,
 * or not all of the table was read.
 */
uint32_t ruby_lines_find(const struct script_lines *lines, uint64_t place);
