/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile functions of JavaScript: names end. */
#include "symbolizer/script/fuzz-script.h"
#include "symbolizer/script/v8-function.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct v8_fields fields;
	struct script_code_text text;
	struct script_origin origin;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	if (v8_function_decode(&fields, &record, &text, &origin))
		fuzz_check_text(&text);
	free((void *)record.bytes.data);
	return 0;
}
