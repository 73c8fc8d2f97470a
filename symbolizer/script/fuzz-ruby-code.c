/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile code of Ruby. An input is the fields of a runtime (two bytes each) and a record's bytes.
 * Whatever they are, names end, and places have a line or none.
 */
#include <string.h>

#include "symbolizer/script/ruby-code.h"
#include "tests/fuzz/fuzz.h"

enum { SHIFT_MAX = 31, PLACES = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record = { 0 };
	struct ruby_fields fields;
	struct ruby_code code = { 0 };
	int64_t *number = (int64_t *)&fields;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*number); i++) {
		int16_t field;

		fuzz_take(&input, &field, sizeof(field));
		number[i] = field & INT16_MAX; /* runtime_table_add() refuses others */
	}
	fields.line_shift &= SHIFT_MAX;
	fields.text_short = fields.text_short > SHIFT_MAX ? -1 : fields.text_short;
	record.bytes.data = fuzz_take_block(&input, input.size, &record.bytes.size);
	if (ruby_code_decode(&fields, &record, &code) == 0) {
		fuzz_check(strnlen(code.text.name, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		fuzz_check(strnlen(code.text.file, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		for (uint64_t place = 0; place < PLACES; place++)
			ruby_lines_find(&code.lines, place);
		ruby_lines_find(&code.lines, UINT64_MAX);
	}
	free(code.bytes);
	free((void *)record.bytes.data);
	return 0;
}
