/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/source/kernel-symbol.h"

_Static_assert((int)WIRE_kernel_symbol_kind_BPF == PERF_RECORD_KSYMBOL_TYPE_BPF &&
		       (int)WIRE_kernel_symbol_kind_OUT_OF_LINE == PERF_RECORD_KSYMBOL_TYPE_OOL,
	       "kinds have perf's numbers");

int kernel_symbol_put(struct stage *stage, const struct perf_record_ksymbol *record, uint64_t time)
{
	bool is_gone = record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	const char *name = record_text(&record->header, sizeof(*record));
	struct wire_kernel_symbol out = {
		.time = time,
		.address = record->address,
		.size = record->size,
		.flags = is_gone ? WIRE_kernel_symbol_flags_GONE : 0,
		.kind = record->kind,
	};

	if (!name) {
		++*counters_get(&stage->counters, "refused", "kernel-symbols");
		return 0;
	}
	out.name = wire_string(name, 255);
	return stage_put(stage, WIRE_RECORD_kernel_symbol, &out);
}
