/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pieces of memory records of Perl, behind the object: what walk programs lead to, in the order
 * in which perf-source's has it. Positions (COP) have only one, the name of a file, or those of a
 * glob.
 */
#pragma once

#include "common/script/memory-pieces.h"
#include "common/script/runtime-table.h"

/* Of a sub. Packages have a name, or several, of which the first counts. */
enum perl_sub_piece {
	PERL_SUB_BODY,
	PERL_SUB_GLOB, /* or its name, if it has that itself */
	PERL_SUB_GLOB_BODY,
	PERL_SUB_GLOB_NAME,
	PERL_SUB_GLOB_STASH, /* the package of its glob, */
	PERL_SUB_GLOB_STASH_BODY,
	PERL_SUB_GLOB_STASH_NAME,
	PERL_SUB_GLOB_STASH_NAMES,
	PERL_SUB_STASH, /* and of itself */
	PERL_SUB_STASH_BODY,
	PERL_SUB_STASH_NAME,
	PERL_SUB_STASH_NAMES,
	PERL_SUB_FILE,
	PERL_SUB_PIECES_MAX,
};

/* Of a position in builds without threads: its file is the name of a glob. */
enum perl_cop_piece { PERL_COP_GLOB, PERL_COP_GLOB_BODY, PERL_COP_GLOB_NAME, PERL_COP_PIECES_MAX };

/* Whether a record is that of a sub; then the pieces behind its body are next. */
static inline bool perl_begin_sub(const struct perl_fields *fields,
				  const struct wire_memory *record, struct memory_pieces *ret,
				  struct wire_blob *ret_body)
{
	return memory_pieces_begin(&record->bytes, fields->sub_size, ret) &&
	       memory_pieces_next(ret, ret_body) && ret_body->size == (size_t)fields->sub_body;
}
