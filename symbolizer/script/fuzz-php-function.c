/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile functions of PHP: names end. */
#include "symbolizer/script/fuzz-script.h"
#include "symbolizer/script/php-function.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct php_fields fields;
	struct php_function function;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	if (php_function_decode(&fields, &record, &function))
		fuzz_check_text(&function.text);
	free((void *)record.bytes.data);
	return 0;
}
