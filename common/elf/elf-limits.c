/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/elf/elf-limits.h"
#include "common/base/sum.h"
#include "common/elf/elf-section.h"

static bool is_table(const GElf_Shdr *header)
{
	return header->sh_type != SHT_NULL && header->sh_type != SHT_PROGBITS &&
	       header->sh_type != SHT_NOBITS;
}

/* Does not look at names: they are in one of these sections. */
static size_t limit_tables(Elf *elf)
{
	struct elf_section section = { .elf = elf };
	uint64_t sum = 0;
	size_t n_hidden = 0;

	while ((section.handle = elf_nextscn(elf, section.handle))) {
		if (!gelf_getshdr(section.handle, &section.header) || !is_table(&section.header))
			continue;
		if (section.header.sh_flags & SHF_COMPRESSED ||
		    section.header.sh_size > ELF_TABLES_MAX - sum) {
			elf_section_hide(&section);
			n_hidden++;
		} else {
			sum += section.header.sh_size;
		}
	}
	return n_hidden;
}

static bool is_beyond(const struct elf_section *section)
{
	if (section->header.sh_type != SHT_PROGBITS)
		return false;
	if (section->header.sh_flags & SHF_ALLOC)
		return section->header.sh_flags & SHF_COMPRESSED ||
		       section->header.sh_size > ELF_LOADED_MAX;
	return !elf_section_is_dwarf(section) && (section->header.sh_flags & SHF_COMPRESSED ||
						  section->header.sh_size > ELF_OTHER_MAX);
}

size_t elf_limits_apply(Elf *elf)
{
	size_t n_hidden = limit_tables(elf);
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (is_beyond(&section)) {
			elf_section_hide(&section);
			n_hidden++;
		}
	return n_hidden;
}

uint64_t elf_tables_size(Elf *elf)
{
	Elf_Scn *handle = NULL;
	GElf_Shdr header;
	uint64_t sum = 0;

	while ((handle = elf_nextscn(elf, handle)))
		if (gelf_getshdr(handle, &header) && is_table(&header))
			sum_add(&sum, header.sh_size);
	return sum;
}

bool elf_limits_hold(Elf *elf)
{
	Elf_Scn *handle = NULL;
	GElf_Shdr header;

	while ((handle = elf_nextscn(elf, handle)))
		if (gelf_getshdr(handle, &header) && header.sh_flags & SHF_COMPRESSED)
			return false;
	return elf_dwarf_size(elf) <= ELF_LOADED_MAX; /* .zdebug_ has no flag */
}
