/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile functions of Lua. An input is the fields of a runtime (two bytes each) and a record's
 * bytes. Whatever they are, names and lines end.
 */
#include <string.h>

#include "symbolizer/script/lua-proto.h"
#include "tests/fuzz/fuzz.h"

enum { PLACES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record = { 0 };
	struct lua_fields fields;
	struct script_code_text text;
	struct script_lines lines;
	int64_t *number = (int64_t *)&fields;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*number); i++) {
		uint16_t field;

		fuzz_take(&input, &field, sizeof(field));
		number[i] = field; /* runtime_table_add() refuses others */
	}
	record.bytes.data = fuzz_take_block(&input, input.size, &record.bytes.size);
	if (lua_proto_decode(&fields, &record, &text, &lines) == 0) {
		fuzz_check(strnlen(text.name, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		fuzz_check(strnlen(text.file, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		for (uint64_t place = 0; place < PLACES; place++)
			lua_lines_find(&lines, place);
	}
	free((void *)lines.bytes);
	free((void *)record.bytes.data);
	return 0;
}
