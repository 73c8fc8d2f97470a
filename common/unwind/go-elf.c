/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/elf-section.h"
#include "common/unwind/go-elf.h"
#include "common/unwind/go-module.h"

enum {
	TABLE_ALIGNMENT = 32,
	MERGED_MAX = 16, /* places looked at that begin like a table */
};

static bool is_table(const struct elf_section *section)
{
	return !strcmp(section->name, ".gopclntab") ||
	       !strcmp(section->name, ".data.rel.ro.gopclntab");
}

/* Reads a table that begins at an offset of a section, up to the section's end. */
static enum go_pclntab_outcome read_at(const struct elf_section *section, const Elf_Data *data,
				       size_t at, struct go_pclntab *ret)
{
	struct go_module module;
	enum go_pclntab_outcome outcome =
		go_pclntab_read((const char *)data->d_buf + at, data->d_size - at,
				section->header.sh_addr + at, ret);

	if (outcome != GO_PCLNTAB_E_TEXT || !go_module_find(section->elf, ret, &module))
		return outcome;
	ret->text = module.text;
	return GO_PCLNTAB_OK;
}

/*
 * Up to Go 1.25, linkers other than Go's merge the table of a position-independent program into
 * .data.rel.ro. There it counts only if a module refers to all of its parts.
 */
static enum go_pclntab_outcome find_merged(const struct elf_section *section, const Elf_Data *data,
					   struct go_pclntab *ret)
{
	enum go_pclntab_outcome outcome;
	struct go_module module;
	size_t n = 0;

	for (size_t at = 0; at < data->d_size && n < MERGED_MAX; at += TABLE_ALIGNMENT) {
		outcome = read_at(section, data, at, ret);
		n += outcome == GO_PCLNTAB_OK || outcome == GO_PCLNTAB_E_TEXT;
		if (outcome == GO_PCLNTAB_OK && go_module_find(section->elf, ret, &module))
			return GO_PCLNTAB_OK;
	}
	return GO_PCLNTAB_E_NONE;
}

enum go_pclntab_outcome go_elf_read(Elf *elf, struct go_pclntab *ret)
{
	struct elf_section section = elf_section_before_first(elf);
	enum go_pclntab_outcome outcome = GO_PCLNTAB_E_NONE;
	bool is_go = false;

	while (outcome == GO_PCLNTAB_E_NONE && elf_section_next(&section)) {
		bool is_merged = is_go && !strcmp(section.name, ".data.rel.ro");
		const Elf_Data *data =
			is_table(&section) || is_merged ? elf_section_read(&section) : NULL;

		is_go |= !strcmp(section.name, ".note.go.buildid");
		if (data)
			outcome = is_merged ? find_merged(&section, data, ret)
					    : read_at(&section, data, 0, ret);
	}
	return outcome;
}
