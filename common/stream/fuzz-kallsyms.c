/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile kallsyms, plain or compressed. An input is a byte that decides how the file is cut, then
 * the file. Reading in pieces must equal reading at once; symbols must be sorted and all found.
 */
#include <errno.h>

#include "common/base/cleanup.h"
#include "common/stream/kallsyms.h"
#include "tests/fuzz/fuzz.h"

#define _cleanup_kallsyms_ _cleanup_(kallsyms_deinit)

/* The first function with the greatest start at or before an address; NULL: none, or no end. */
static const struct kernel_symbol *look(const struct kallsyms *kallsyms, uint64_t address)
{
	size_t i = 0, first = 0;

	for (; i < kallsyms->n && kallsyms->list[i].address <= address; i++)
		if (i == 0 || kallsyms->list[i].address != kallsyms->list[i - 1].address)
			first = i;
	return i == 0 || i == kallsyms->n ? NULL : &kallsyms->list[first];
}

static void check_address(const struct kallsyms *kallsyms, uint64_t address)
{
	uint64_t size;
	const struct kernel_symbol *found = kallsyms_find(kallsyms, address, &size);

	fuzz_check(found == look(kallsyms, address));
	if (!found)
		return;
	fuzz_check(address - found->address < size);
	fuzz_check(*found->name);
}

static void check_same(const struct kallsyms *kallsyms, const struct kallsyms *other)
{
	fuzz_check(kallsyms->n == other->n && kallsyms->n_refused == other->n_refused);
	for (size_t i = 0; i < kallsyms->n; i++) {
		const struct kernel_symbol *here = &kallsyms->list[i], *there = &other->list[i];

		fuzz_check(i == 0 || here->address >= here[-1].address);
		fuzz_check(here->address == there->address);
		fuzz_check(!strcmp(here->name, there->name));
		fuzz_check(!strcmp(here->module, there->module));
		check_address(kallsyms, here->address - 1);
		check_address(kallsyms, here->address);
		check_address(kallsyms, here->address + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_kallsyms_ struct kallsyms at_once = { 0 }, in_pieces = { 0 };
	struct fuzz_input input = { bytes, size };
	uint8_t cut;
	int r;

	fuzz_take(&input, &cut, sizeof(cut));
	fuzz_check(kallsyms_add(&at_once, input.bytes, input.size) == 0);
	for (bool any = false; input.size || !any; any = true) {
		size_t n;
		_cleanup_free_ char *piece = fuzz_take_block(&input, 1 + cut % 61, &n);

		fuzz_check(kallsyms_add(&in_pieces, piece, n) == 0);
		cut = cut * 5 + 3;
	}
	r = kallsyms_finish(&at_once);
	fuzz_check(r == 0 || r == -EBADMSG);
	fuzz_check(kallsyms_finish(&in_pieces) == r);
	check_same(&at_once, &in_pieces);
	return 0;
}
