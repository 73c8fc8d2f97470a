/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/static-symbol.h"

static bool find_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
		    GElf_Sym *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < n && i < STATIC_SYMBOLS_MAX; i++) {
		const char *text;

		if (!gelf_getsym(data, i, ret) || ret->st_shndx == SHN_UNDEF)
			continue;
		text = elf_strptr(elf, header->sh_link, ret->st_name);
		if (text && !strcmp(text, name))
			return true;
	}
	return false;
}

bool static_symbol_find(Elf *elf, const char *name, GElf_Sym *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return find_in(elf, section, &header, name, ret);
	return false;
}
