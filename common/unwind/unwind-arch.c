/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/unwind/unwind-arch.h"

const struct unwind_arch *unwind_arch_find(uint16_t elf_machine)
{
	static const struct unwind_arch *const known[] = { &unwind_x86_64, &unwind_aarch64 };
	const struct arch *base = arch_find(elf_machine);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i]->base == base)
			return known[i];
	return NULL;
}
