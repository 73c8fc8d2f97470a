/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <string.h>

#include "common/arch/arch.h"

static const struct arch *const known[] = { &arch_x86_64, &arch_aarch64 };

const struct arch *arch_host(void)
{
	return &ARCH_HOST;
}

const struct arch *arch_find(uint16_t elf_machine)
{
	if (elf_machine == EM_NONE)
		return arch_host();
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i]->elf_machine == elf_machine)
			return known[i];
	return NULL;
}

const struct arch *arch_find_name(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i]->name, name))
			return known[i];
	return NULL;
}

int arch_register_number(const struct arch *arch, const char *name, size_t size)
{
	for (const struct arch_register *each = arch->names; each->name; each++)
		if (strlen(each->name) == size && !memcmp(each->name, name, size))
			return each->number;
	return -1;
}
