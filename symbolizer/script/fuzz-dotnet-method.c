/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile methods of .NET: names end. */
#include "common/script/runtime-table.h"
#include "symbolizer/script/dotnet-method.h"
#include "symbolizer/script/fuzz-script.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct dotnet_fields fields;
	struct script_code_text text;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	if (dotnet_method_decode(&record, &text))
		fuzz_check_text(&text);
	free((void *)record.bytes.data);
	return 0;
}
