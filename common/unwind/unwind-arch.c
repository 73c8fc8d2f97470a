/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/unwind/unwind-arch.h"

const struct unwind_arch *unwind_arch_find(uint16_t machine)
{
	if (machine == unwind_x86_64.machine)
		return &unwind_x86_64;
	if (machine == unwind_aarch64.machine)
		return &unwind_aarch64;
	return NULL;
}

const struct unwind_register *unwind_arch_register(const struct unwind_arch *arch, const char *name,
						   size_t size)
{
	for (const struct unwind_register *each = arch->registers; each->name; each++)
		if (strlen(each->name) == size && !memcmp(each->name, name, size))
			return each;
	return NULL;
}
