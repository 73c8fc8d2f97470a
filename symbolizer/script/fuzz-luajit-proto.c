/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile functions of LuaJIT: names and lines end. */
#include "symbolizer/script/fuzz-script.h"
#include "symbolizer/script/lua-proto.h"
#include "symbolizer/script/luajit-proto.h"

enum { PLACES = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct luajit_fields fields;
	struct script_code_text text;
	struct script_lines lines;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	if (luajit_proto_decode(&fields, &record, &text, &lines) == 0) {
		fuzz_check_text(&text);
		for (uint64_t place = 0; place < PLACES; place++)
			lua_lines_find(&lines, place);
	}
	free((void *)lines.bytes);
	free((void *)record.bytes.data);
	return 0;
}
