/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of BEAM, as memory records have them. All of it is the target's. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

/* Its name is "module:function/arity", as Erlang writes it. False: the record is damaged. */
bool beam_function_decode(const struct beam_fields *fields, const struct wire_memory *record,
			  struct script_code_text *ret);
