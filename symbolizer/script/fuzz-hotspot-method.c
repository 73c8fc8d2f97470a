/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile methods of Java: names end, and there is a line or none. */
#include <string.h>

#include "symbolizer/script/fuzz-script.h"
#include "symbolizer/script/hotspot-method.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct hotspot_fields fields;
	struct hotspot_method method;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	memcpy(&fields.method_type, record.bytes.data,
	       record.bytes.size < sizeof(fields.method_type) ? 0 : sizeof(fields.method_type));
	if (hotspot_method_decode(&fields, &record, &method)) {
		fuzz_check_text(&method.text);
		for (uint64_t place = 0; place < 64; place++)
			fuzz_check(hotspot_lines_find(&method.lines, place) <= UINT16_MAX);
	}
	free((void *)record.bytes.data);
	return 0;
}
