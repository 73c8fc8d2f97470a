/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile functions of Lua: names and lines end. */
#include "symbolizer/script/fuzz-script.h"
#include "symbolizer/script/lua-proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct lua_fields fields;
	struct script_code_text text;
	struct script_lines lines;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	fuzz_check_decoded(lua_proto_decode(&fields, &record, &text, &lines), &text, &lines,
			   lua_lines_find);
	free((void *)record.bytes.data);
	return 0;
}
