/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subs of Perl, and code outside of them, as memory records have it. All of it is the target's. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-code.h"

/* PACKAGE::NAME; {main}: what a file has outside of subs; {eval}: what a text has. Without a name
 * what the record does not have: then the text is empty. */
void perl_sub_decode(const struct perl_fields *fields, const struct wire_memory *record,
		     struct script_code_text *ret);
