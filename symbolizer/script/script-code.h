/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What memory records have of code in any language: an object, and pieces behind it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/wire/wire.h"

enum { SCRIPT_TEXT_MAX = 1024 /* bytes of a name, with the zero */ };

struct script_code_text {
	char name[SCRIPT_TEXT_MAX]; /* as qualified as the language has it; empty: not in memory */
	char file[SCRIPT_TEXT_MAX];
};

/* A piece behind an object: its size in 8 bytes, and its bytes, filled to a multiple of 8. */
struct script_pieces {
	const char *at, *end;
};

/* False: the object itself is not whole. */
bool script_pieces_begin(const struct wire_memory *record, uint64_t object_size,
			 struct script_pieces *ret);

/* False: there is none, or it is not whole. */
bool script_pieces_next(struct script_pieces *pieces, struct wire_blob *ret);

/* A number of up to 8 bytes, of a little-endian machine. */
uint64_t script_number(const char *at, size_t size);
