/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all fuzz targets of scripts share. An input is the fields of a runtime (two bytes each) and
 * a record's bytes; whatever they are, names end.
 */
#pragma once

#include "symbolizer/script/script-code.h"
#include "tests/fuzz/fuzz.h"

/* Takes the fields of a language, all of which are numbers; runtime_table_add() refuses others. */
static inline void fuzz_take_fields(struct fuzz_input *input, void *fields, size_t size)
{
	int64_t *number = fields;

	for (size_t i = 0; i < size / sizeof(*number); i++) {
		uint16_t field;

		fuzz_take(input, &field, sizeof(field));
		number[i] = field;
	}
}

/* Takes a record of the rest; its bytes are to be freed. */
static inline struct wire_memory fuzz_take_record(struct fuzz_input *input)
{
	struct wire_memory record = { 0 };

	record.bytes.data = fuzz_take_block(input, input->size, &record.bytes.size);
	return record;
}

static inline void fuzz_check_text(const struct script_code_text *text)
{
	fuzz_check(strnlen(text->name, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
	fuzz_check(strnlen(text->file, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
}

/* Checks what was decoded, if `r` is 0, and the lines of its first places. Frees the lines. */
static inline void fuzz_check_decoded(int r, const struct script_code_text *text,
				      const struct script_lines *lines,
				      uint32_t (*find)(const struct script_lines *lines,
						       uint64_t place))
{
	enum { PLACES = 4096 };

	if (r == 0)
		fuzz_check_text(text);
	for (uint64_t place = 0; r == 0 && place < PLACES; place++)
		find(lines, place);
	free((void *)lines->bytes);
}
