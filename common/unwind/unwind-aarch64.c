/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AArch64: DWARF's numbers are those of the ABI ("DWARF for the Arm 64-bit Architecture", 4.1). A
 * leaf function's return address is in x30 as long as nothing is said of it.
 */
#include <elf.h>

#include "common/unwind/unwind-arch.h"

enum { X29 = 29, X30 = 30, SP = 31 };

static void classify_cfa(const uint8_t *expression, size_t size, struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_FALLBACK; /* compilers write none */
}

static const struct unwind_register registers[] = {
	{ "x0", 0 },	{ "x1", 1 },   { "x2", 2 },   { "x3", 3 },   { "x4", 4 },   { "x5", 5 },
	{ "x6", 6 },	{ "x7", 7 },   { "x8", 8 },   { "x9", 9 },   { "x10", 10 }, { "x11", 11 },
	{ "x12", 12 },	{ "x13", 13 }, { "x14", 14 }, { "x15", 15 }, { "x16", 16 }, { "x17", 17 },
	{ "x18", 18 },	{ "x19", 19 }, { "x20", 20 }, { "x21", 21 }, { "x22", 22 }, { "x23", 23 },
	{ "x24", 24 },	{ "x25", 25 }, { "x26", 26 }, { "x27", 27 }, { "x28", 28 }, { "x29", X29 },
	{ "x30", X30 }, { "fp", X29 }, { "lr", X30 }, { "sp", SP },  { NULL },
};

const struct unwind_arch unwind_aarch64 = {
	.machine = EM_AARCH64,
	.sp = SP,
	.fp = X29,
	.return_address = X30,
	.initial_return_address = UNWIND_VALUE_SAME,
	.classify_cfa = classify_cfa,
	.registers = registers,
	/*
	 * The frame record lies anywhere in a frame: where that ends is not known, so this CFA is
	 * only the least that it can be.
	 */
	.usual_frame = {
		.cfa = UNWIND_CFA_FP,
		.cfa_offset = 16,
		.return_address = UNWIND_VALUE_AT_CFA,
		.return_address_offset = -8,
		.fp = UNWIND_VALUE_AT_CFA,
		.fp_offset = -16,
	},
};
