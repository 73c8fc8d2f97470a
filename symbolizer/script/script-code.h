/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What memory records have of code in any language (common/script/memory-pieces.h). */
#pragma once

#include "common/script/memory-pieces.h"

enum { SCRIPT_TEXT_MAX = 1024 /* bytes of a name, with the zero */ };

struct script_code_text {
	char name[SCRIPT_TEXT_MAX]; /* as qualified as the language has it; empty: not in memory */
	char file[SCRIPT_TEXT_MAX];
};

/* The lines of a function's places, as its language has them. */
struct script_lines {
	int form;
	const uint8_t *bytes;
	size_t size;
	bool is_cut; /* not all of it was read */
	uint32_t first_line;
};
