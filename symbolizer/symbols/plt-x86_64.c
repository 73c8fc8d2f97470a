/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>

#include "symbolizer/symbols/plt.h"

const uint32_t plt_resolved_relocation = R_X86_64_IRELATIVE;

size_t plt_first_stub(const struct plt_code *code, uint64_t *ret_slot)
{
	return plt_x86_64_stub(code, ret_slot);
}
