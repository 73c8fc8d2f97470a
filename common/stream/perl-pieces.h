/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What memory records have of Perl: subs, whose first piece is their body, and positions (COP),
 * whose only piece is the name of a file.
 */
#pragma once

#include "common/stream/memory-pieces.h"
#include "common/stream/runtime-table.h"

/* Whether a record is that of a sub; then the pieces behind its body are next. */
static inline bool perl_begin_sub(const struct perl_fields *fields,
				  const struct wire_memory *record, struct memory_pieces *ret,
				  struct wire_blob *ret_body)
{
	return memory_pieces_begin(&record->bytes, fields->sub_size, ret) &&
	       memory_pieces_next(ret, ret_body) && ret_body->size == (size_t)fields->sub_body;
}
