/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile tables of Go programs: lookups of inlined calls must stay within bounds, and end. */
#include "common/base/cleanup.h"
#include "symbolizer/symbols/go-calls.h"
#include "tests/fuzz/fuzz.h"

enum { CALLS_MAX = 16, TEXT = 0x401000 };

static void check_calls(const struct go_calls *calls, uint64_t address)
{
	struct inline_call list[CALLS_MAX];
	size_t n = go_calls_find(calls, address, list, CALLS_MAX);

	fuzz_check(n <= CALLS_MAX);
	for (size_t i = 0; i < n; i++) {
		fuzz_check(strlen(list[i].name) < calls->table.size);
		fuzz_check(!list[i].file || strlen(list[i].file) < calls->table.size);
		fuzz_check(!list[i].line == !list[i].file);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	_cleanup_free_ uint8_t *data = NULL, *block = NULL;
	struct go_calls calls = { 0 };
	enum go_pclntab_outcome outcome;
	uint8_t n_data;
	size_t n;

	fuzz_take(&input, &n_data, sizeof(n_data));
	data = fuzz_take_block(&input, n_data, &n);
	calls.data = data;
	calls.data_size = n;
	block = fuzz_take_block(&input, SIZE_MAX, &n);
	outcome = go_pclntab_read(block, n, 0x600000, &calls.table);
	if (outcome != GO_PCLNTAB_OK && outcome != GO_PCLNTAB_E_TEXT)
		return 0;
	calls.table.text = TEXT;
	for (uint64_t address = TEXT; address < TEXT + 0x200; address += 7)
		check_calls(&calls, address);
	return 0;
}
