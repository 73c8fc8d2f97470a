/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/unwind-arch.h"

const struct unwind_arch *unwind_arch_find(uint16_t machine)
{
	if (machine == unwind_x86_64.machine)
		return &unwind_x86_64;
	if (machine == unwind_aarch64.machine)
		return &unwind_aarch64;
	return NULL;
}
