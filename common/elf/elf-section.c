/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <endian.h>
#include <string.h>

#include "common/elf/elf-limits.h"
#include "common/elf/elf-section.h"

/* The older compressed format: "ZLIB", then the size in eight bytes, big-endian. */
#define ZDEBUG ".zdebug_"
#define ZDEBUG_MAGIC "ZLIB"

enum { ZDEBUG_MAGIC_SIZE = sizeof(ZDEBUG_MAGIC) - 1 };

struct elf_section elf_section_before_first(Elf *elf)
{
	struct elf_section section = { .elf = elf };

	if (elf_getshdrstrndx(elf, &section.names) < 0)
		section.names = SHN_UNDEF;
	return section;
}

bool elf_section_next(struct elf_section *section)
{
	if (section->names == SHN_UNDEF)
		return false;
	while ((section->handle = elf_nextscn(section->elf, section->handle))) {
		if (!gelf_getshdr(section->handle, &section->header))
			continue;
		section->name = elf_strptr(section->elf, section->names, section->header.sh_name);
		if (section->name)
			return true;
	}
	return false;
}

const Elf_Data *elf_section_read(const struct elf_section *section)
{
	const Elf_Data *data = NULL;

	if (section->header.sh_type != SHT_NOBITS && section->header.sh_size <= ELF_LOADED_MAX)
		data = elf_rawdata(section->handle, NULL);
	return data && data->d_buf ? data : NULL;
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

bool elf_section_is_dwarf(const struct elf_section *section)
{
	return starts_with(section->name, ".debug_") || starts_with(section->name, ZDEBUG);
}

static uint64_t size_of_zdebug(const struct elf_section *section)
{
	const Elf_Data *data = elf_rawdata(section->handle, NULL);
	uint64_t size;

	if (!data || !data->d_buf || data->d_size < ZDEBUG_MAGIC_SIZE + sizeof(size) ||
	    memcmp(data->d_buf, ZDEBUG_MAGIC, ZDEBUG_MAGIC_SIZE))
		return section->header.sh_size;
	memcpy(&size, (const char *)data->d_buf + ZDEBUG_MAGIC_SIZE, sizeof(size));
	return be64toh(size);
}

bool elf_section_is_plt(const struct elf_section *section)
{
	return section->header.sh_type == SHT_PROGBITS &&
	       section->header.sh_flags & SHF_EXECINSTR &&
	       (!strncmp(section->name, ".plt", 4) || !strcmp(section->name, ".iplt"));
}

uint64_t elf_section_size_in_memory(const struct elf_section *section)
{
	const GElf_Shdr *header = &section->header;
	bool is_zdebug = starts_with(section->name, ZDEBUG);
	GElf_Chdr compressed;

	if (header->sh_type == SHT_NOBITS)
		return 0;
	if (!(header->sh_flags & SHF_COMPRESSED) && !is_zdebug)
		return header->sh_size;
	if (header->sh_size > ELF_COMPRESSED_MAX) /* libelf reads all of it for its first bytes */
		return UINT64_MAX;
	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section->handle, &compressed) ? compressed.ch_size
								  : header->sh_size;
	return size_of_zdebug(section);
}

void elf_section_hide(struct elf_section *section)
{
	section->header.sh_type = SHT_NOBITS;
	gelf_update_shdr(section->handle, &section->header);
}

uint64_t elf_dwarf_size(Elf *elf)
{
	struct elf_section section = elf_section_before_first(elf);
	uint64_t sum = 0;

	while (elf_section_next(&section))
		if (elf_section_is_dwarf(&section) &&
		    __builtin_add_overflow(sum, elf_section_size_in_memory(&section), &sum))
			return UINT64_MAX;
	return sum;
}
