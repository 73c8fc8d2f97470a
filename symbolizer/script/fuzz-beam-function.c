/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile functions of BEAM. An input is the fields of a runtime (two bytes each) and a record's
 * bytes. Whatever they are, names end.
 */
#include <string.h>

#include "symbolizer/script/beam-function.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record = { 0 };
	struct beam_fields fields;
	struct script_code_text text;
	int64_t *number = (int64_t *)&fields;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*number); i++) {
		uint16_t field;

		fuzz_take(&input, &field, sizeof(field));
		number[i] = field; /* runtime_table_add() refuses others */
	}
	record.bytes.data = fuzz_take_block(&input, input.size, &record.bytes.size);
	if (beam_function_decode(&fields, &record, &text)) {
		fuzz_check(strnlen(text.name, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		fuzz_check(strnlen(text.file, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
	}
	free((void *)record.bytes.data);
	return 0;
}
