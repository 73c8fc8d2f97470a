/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile subs and positions of Perl: names end. */
#include "symbolizer/script/fuzz-script.h"
#include "symbolizer/script/perl-sub.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct wire_memory record;
	struct perl_fields fields;
	struct script_code_text text;

	fuzz_take_fields(&input, &fields, sizeof(fields));
	record = fuzz_take_record(&input);
	perl_sub_decode(&fields, &record, &text);
	fuzz_check_text(&text);
	free((void *)record.bytes.data);
	return 0;
}
