/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "symbolizer/dwarf/debug-sections.h"

static bool is_named(const struct elf_section *section, const char *name, const char *compressed)
{
	return section->header.sh_type != SHT_NOBITS &&
	       (!strcmp(section->name, name) || !strcmp(section->name, compressed));
}

bool debug_sections_has_info(Elf *elf)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (is_named(&section, ".debug_info", ".zdebug_info"))
			return true;
	return false;
}

static bool is_unread(const char *name)
{
	static const char *const list[] = { ".debug_loc", ".debug_loclists", ".debug_macinfo",
					    ".debug_macro" };

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

void debug_sections_hide_unread(Elf *elf)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (is_unread(section.name))
			elf_section_hide(&section);
}

int debug_sections_code(Elf *elf, struct interval_map *ret)
{
	_cleanup_free_ struct interval *list = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t n = 0, max;

	*ret = (struct interval_map){ 0 };
	if (elf_getshdrnum(elf, &max) < 0)
		return 0;
	list = calloc(max + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	while ((section = elf_nextscn(elf, section)) && n < max)
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_ALLOC &&
		    header.sh_flags & SHF_EXECINSTR)
			list[n++] = (struct interval){
				.start = header.sh_addr,
				.end = header.sh_addr + header.sh_size,
			};
	return interval_map_init(ret, list, n);
}

const Elf_Data *debug_sections_lines(Elf *elf)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (is_named(&section, ".debug_line", ".zdebug_line"))
			return elf_rawdata(section.handle, NULL);
	return NULL;
}

uint64_t debug_sections_line_program_size(const Elf_Data *lines, uint64_t offset)
{
	uint64_t left, long_size = 0;
	const char *program;
	uint32_t size;

	if (!lines || !lines->d_buf || offset >= lines->d_size || lines->d_size - offset < 12)
		return 0;
	program = (const char *)lines->d_buf + offset;
	left = lines->d_size - offset;
	memcpy(&size, program, sizeof(size));
	if (size == UINT32_MAX)
		memcpy(&long_size, program + sizeof(size), sizeof(long_size));
	else
		long_size = size;
	return long_size < left ? long_size : left;
}
