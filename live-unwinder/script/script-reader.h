/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How each language's walks are read. */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

struct script_reader {
	/* What the reader has to know of a recorded object (code-table.h); 0: it is no code. */
	uint64_t (*trait)(const struct runtime_fields *fields, const struct wire_memory *record);

	uint64_t kept; /* the trait of objects whose bytes the reader needs again; 0: none */

	/* Reads the walk of a sample of a process with these fields. Without frames `ret` is empty.
	 */
	enum script_outcome (*read)(const struct runtime_fields *fields,
				    const struct code_table *codes,
				    const struct script_thread *thread, struct script_stack *ret);
};

extern const struct script_reader script_readers[SCRIPT_LANGUAGES_MAX];
