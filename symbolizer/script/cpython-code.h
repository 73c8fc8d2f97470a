/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code objects of CPython 3.11 to 3.15, as memory records have them: names, and the line of each
 * instruction (Objects/locations.md of CPython's sources). All of it is the target's.
 */
#pragma once

#include <stddef.h>

#include "common/stream/runtime-table.h"

enum { CPYTHON_TEXT_MAX = 1024 /* bytes in UTF-8, with the zero */ };

struct cpython_code {
	char name[CPYTHON_TEXT_MAX]; /* qualified; empty: not in memory */
	char file[CPYTHON_TEXT_MAX];
	uint32_t first_line;
	const uint8_t *lines; /* borrowed from the record */
	size_t lines_size;
};

/* False: the record is none of code. */
bool cpython_code_decode(const struct cpython_fields *fields, const struct wire_memory *record,
			 struct cpython_code *ret);

/*
 * The line of an instruction, counted from 1 on; 0: what comes before the first has the line of the
 * function. Returns 0: it has none, or the table ends before it.
 */
uint32_t cpython_code_line(const uint8_t *lines, size_t size, uint32_t first_line,
			   uint64_t instruction);
