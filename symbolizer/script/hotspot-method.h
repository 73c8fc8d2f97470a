/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of Java, as HotSpot's memory has them (Method, ConstMethod). */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

struct hotspot_method {
	struct script_code_text text;
	struct script_lines lines; /* refers to the record */
};

/* False: it is no method, or damaged. */
bool hotspot_method_decode(const struct hotspot_fields *fields, const struct wire_memory *record,
			   struct hotspot_method *ret);

/* The line of a place: one more than the number of a byte of bytecode; 0: not known. */
uint32_t hotspot_lines_find(const struct script_lines *lines, uint64_t place);
