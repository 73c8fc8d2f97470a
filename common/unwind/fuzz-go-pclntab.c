/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile pclntabs of Go programs: function lookups must stay within bounds. */
#include "common/base/cleanup.h"
#include "common/unwind/go-pclntab.h"
#include "common/unwind/unwind-table.h"
#include "tests/fuzz/fuzz.h"

static void check_function(const struct go_pclntab *table, const struct go_function *function)
{
	struct go_walk walk = go_walk_begin(table, function, function->stack_at);
	uint64_t end = go_function_code_end(table, function);

	fuzz_check(function->start < function->end);
	fuzz_check(end >= function->start && end <= function->end);
	fuzz_check(strlen(function->name) < table->size);
	while (go_stack_walk_next(&walk)) {
		fuzz_check(walk.value >= 0 && walk.value <= INT32_MAX - 8);
		fuzz_check(walk.start < walk.pc && walk.pc <= function->end);
	}
}

/* The code is only partly in the file. */
static void check_rules(const struct go_pclntab *go)
{
	const struct unwind_segment segment = { 0x1000, 0x40000, go->text };
	const struct unwind_source source = {
		.arch = &unwind_x86_64,
		.segments = &segment,
		.n_segments = 1,
		.go = go,
	};
	_cleanup_(unwind_table_deinit) struct unwind_table table = { 0 };

	fuzz_check(unwind_table_compile(&source, &table) == 0);
	for (uint64_t offset = 0; offset < 0x42000; offset += 13)
		unwind_table_find(&table, offset);
}

static bool read_table(const uint8_t *bytes, size_t size, struct go_pclntab *table)
{
	enum go_pclntab_outcome outcome = go_pclntab_read(bytes, size, 0x600000, table);

	if (outcome == GO_PCLNTAB_E_TEXT)
		table->text = 0x401000;
	return outcome == GO_PCLNTAB_OK || outcome == GO_PCLNTAB_E_TEXT;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	size_t n;
	_cleanup_free_ uint8_t *block = fuzz_take_block(&input, SIZE_MAX, &n);
	struct go_pclntab table;
	struct go_function function;

	if (!read_table(block, n, &table))
		return 0;
	for (uint64_t i = 0; i < table.n; i++)
		if (go_pclntab_function(&table, i, &function))
			check_function(&table, &function);
	check_rules(&table);
	return 0;
}
