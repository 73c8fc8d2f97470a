/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AArch64: DWARF's numbers are those of the ABI ("DWARF for the Arm 64-bit Architecture", 4.1). A
 * leaf function's return address is in x30 as long as nothing is said of it.
 */
#include <elf.h>

#include "common/unwind-arch.h"

enum { X29 = 29, X30 = 30, SP = 31 };

static void classify_cfa(const uint8_t *expression, size_t size, struct unwind_rule *rule)
{
	rule->cfa = UNWIND_CFA_FALLBACK; /* compilers write none */
}

const struct unwind_arch unwind_aarch64 = {
	.machine = EM_AARCH64,
	.sp = SP,
	.fp = X29,
	.return_address = X30,
	.initial_return_address = UNWIND_VALUE_SAME,
	.classify_cfa = classify_cfa,
};
