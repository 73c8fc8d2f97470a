/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/elf-limits.h"
#include "common/elf/elf-section.h"
#include "common/unwind/go-elf.h"

/* Offset of `text` in runtime.firstmoduledata (struct moduledata), with which .go.module begins. */
enum { MODULE_TEXT_AT = 22 * 8 };

static bool is_table(const struct elf_section *section)
{
	return !strcmp(section->name, ".gopclntab") ||
	       !strcmp(section->name, ".data.rel.ro.gopclntab");
}

/* NULL: it has no bytes, or more than ELF_LOADED_MAX. */
static const Elf_Data *read_section(const struct elf_section *section)
{
	const Elf_Data *data = NULL;

	if (section->header.sh_type != SHT_NOBITS && section->header.sh_size <= ELF_LOADED_MAX)
		data = elf_rawdata(section->handle, NULL);
	return data && data->d_buf ? data : NULL;
}

static uint64_t read_text(const struct elf_section *section)
{
	const Elf_Data *data = read_section(section);
	uint64_t text = 0;

	if (data && data->d_size >= MODULE_TEXT_AT + sizeof(text))
		memcpy(&text, (const char *)data->d_buf + MODULE_TEXT_AT, sizeof(text));
	return text;
}

enum go_pclntab_outcome go_elf_read(Elf *elf, struct go_pclntab *ret)
{
	struct elf_section section = elf_section_before_first(elf);
	const Elf_Data *table = NULL;
	uint64_t text = 0;

	while (elf_section_next(&section)) {
		if (!table && is_table(&section))
			table = read_section(&section);
		if (!strcmp(section.name, ".go.module"))
			text = read_text(&section);
	}
	return table ? go_pclntab_read(table->d_buf, table->d_size, text, ret) : GO_PCLNTAB_E_NONE;
}
