/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile methods of Java. An input is the fields of a runtime (two bytes each) and a record's
 * bytes. Whatever they are, names end, and there is a line or none.
 */
#include <string.h>

#include "symbolizer/script/hotspot-method.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record = { 0 };
	struct hotspot_fields fields;
	struct hotspot_method method;
	int64_t *number = (int64_t *)&fields;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*number); i++) {
		uint16_t field;

		fuzz_take(&input, &field, sizeof(field));
		number[i] = field; /* runtime_table_add() refuses others */
	}
	record.bytes.data = fuzz_take_block(&input, input.size, &record.bytes.size);
	memcpy(&fields.method_type, record.bytes.data,
	       record.bytes.size < sizeof(fields.method_type) ? 0 : sizeof(fields.method_type));
	if (hotspot_method_decode(&fields, &record, &method)) {
		fuzz_check(strnlen(method.text.name, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		fuzz_check(strnlen(method.text.file, SCRIPT_TEXT_MAX) < SCRIPT_TEXT_MAX);
		for (uint64_t place = 0; place < 64; place++)
			fuzz_check(hotspot_lines_find(&method.lines, place) <= UINT16_MAX);
	}
	free((void *)record.bytes.data);
	return 0;
}
