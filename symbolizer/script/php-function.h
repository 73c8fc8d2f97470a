/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of PHP 8, as memory records have them. All of it is the target's. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

struct php_function {
	struct script_code_text
		text;	     /* CLASS::NAME; {main}: what a file has outside of functions */
	uint32_t first_line; /* 0: it is compiled into PHP */
};

/* False: the record is none of a function. */
bool php_function_decode(const struct php_fields *fields, const struct wire_memory *record,
			 struct php_function *ret);
