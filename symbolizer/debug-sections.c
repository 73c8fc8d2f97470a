/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "symbolizer/debug-sections.h"

/* The next section that has a name and a header; `names` is elf_getshdrstrndx()'s. */
static Elf_Scn *next_section(Elf *elf, Elf_Scn *section, size_t names, GElf_Shdr *ret_header,
			     const char **ret_name)
{
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, ret_header))
			continue;
		*ret_name = elf_strptr(elf, names, ret_header->sh_name);
		if (*ret_name)
			return section;
	}
	return NULL;
}

static bool starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

bool debug_sections_has_info(Elf *elf)
{
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section = next_section(elf, section, names, &header, &name)))
		if (header.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
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
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((section = next_section(elf, section, names, &header, &name)))
		if (is_unread(name)) {
			header.sh_type = SHT_NOBITS;
			gelf_update_shdr(section, &header);
		}
}

/* The older way to compress: "ZLIB", and the size in eight bytes, the highest first. */
static uint64_t size_of_zdebug(Elf_Scn *section, uint64_t size)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t unpacked;

	if (!data || !data->d_buf || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4))
		return size;
	memcpy(&unpacked, (const char *)data->d_buf + 4, sizeof(unpacked));
	return be64toh(unpacked);
}

static uint64_t size_in_memory(Elf_Scn *section, const GElf_Shdr *header, const char *name)
{
	GElf_Chdr compressed;

	if (header->sh_type == SHT_NOBITS)
		return 0;
	if (header->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &compressed) ? compressed.ch_size : header->sh_size;
	return starts_with(name, ".zdebug_") ? size_of_zdebug(section, header->sh_size)
					     : header->sh_size;
}

uint64_t debug_sections_size(Elf *elf)
{
	Elf_Scn *section = NULL;
	uint64_t sum = 0;
	const char *name;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return 0;
	while ((section = next_section(elf, section, names, &header, &name)))
		if ((starts_with(name, ".debug_") || starts_with(name, ".zdebug_")) &&
		    __builtin_add_overflow(sum, size_in_memory(section, &header, name), &sum))
			return UINT64_MAX;
	return sum;
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
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((section = next_section(elf, section, names, &header, &name)))
		if (header.sh_type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")))
			return elf_rawdata(section, NULL);
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
