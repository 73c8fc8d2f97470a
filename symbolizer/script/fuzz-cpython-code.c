/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile code objects. An input is the fields of a runtime (two bytes each) and a record's bytes.
 * Whatever they are, names are UTF-8 and end, and lines are found or not.
 */
#include <string.h>

#include "symbolizer/script/cpython-code.h"
#include "tests/fuzz/fuzz.h"

enum { INSTRUCTIONS = 300, TEXT_KIND_MAX = 24 };

static void take_fields(struct fuzz_input *input, struct cpython_fields *fields)
{
	int64_t *number = (int64_t *)fields;

	for (size_t i = 0; i < sizeof(*fields) / sizeof(*number); i++) {
		uint16_t field;

		fuzz_take(input, &field, sizeof(field));
		number[i] = field; /* runtime_table_add() refuses a code object without a field */
	}
	fields->text_kind %= TEXT_KIND_MAX + 1;
}

static void check_text(const char text[SCRIPT_TEXT_MAX])
{
	size_t n = strnlen(text, SCRIPT_TEXT_MAX);

	fuzz_check(n < SCRIPT_TEXT_MAX);
	for (size_t i = 0; i < n;) {
		uint8_t lead = text[i++];
		size_t more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;

		fuzz_check(lead < 0x80 || lead >= 0xc2);
		for (; more; more--)
			fuzz_check(i < n && ((uint8_t)text[i++] & 0xc0) == 0x80);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record = { 0 };
	struct cpython_fields fields;
	struct cpython_code code;

	take_fields(&input, &fields);
	record.bytes.data = fuzz_take_block(&input, input.size, &record.bytes.size);
	if (cpython_code_decode(&fields, &record, &code)) {
		check_text(code.text.name);
		check_text(code.text.file);
		for (uint64_t i = 0; i < INSTRUCTIONS; i++)
			cpython_lines_find(&code.lines, i);
	}
	free((void *)record.bytes.data);
	return 0;
}
