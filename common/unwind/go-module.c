/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/elf-section.h"
#include "common/unwind/go-module.h"

/* Words of struct moduledata. */
enum {
	MODULE_TABLE = 0,
	MODULE_NAMES = 1,
	MODULE_UNITS = 4,
	MODULE_FILES = 7,
	MODULE_INSTRUCTIONS = 10,
	MODULE_FUNCTIONS = 13,
	MODULE_TEXT = 22,
	MODULE_DATA_1_18 = 38,
	MODULE_DATA_1_20 = 40,
	MODULE_DATA_1_27 = 43,
	MODULE_WORDS = 45,
};

enum {
	CANDIDATES_MAX = 16,
	TEXT_AT = 24, /* offset in the table's header */
};

/* Words at an address, as they are once the program has been loaded. */
struct words {
	uint64_t address, n;
	uint64_t list[MODULE_WORDS];
};

/* The type of a relocation that is an address of the file itself. */
static uint64_t relative_type(Elf *elf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return 0;
	return header.e_machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
}

/* Calls `visit` for each relocation of that type. */
static void each_relocation(Elf *elf, void (*visit)(const Elf64_Rela *relocation, void *arg),
			    void *arg)
{
	struct elf_section section = elf_section_before_first(elf);
	uint64_t type = relative_type(elf);

	while (elf_section_next(&section)) {
		const Elf_Data *data =
			section.header.sh_type == SHT_RELA ? elf_section_read(&section) : NULL;

		for (size_t at = 0; data && data->d_size - at >= sizeof(Elf64_Rela);
		     at += sizeof(Elf64_Rela)) {
			Elf64_Rela relocation;

			memcpy(&relocation, (const char *)data->d_buf + at, sizeof(relocation));
			if (ELF64_R_TYPE(relocation.r_info) == type)
				visit(&relocation, arg);
		}
	}
}

static void take_relocation(const Elf64_Rela *relocation, void *arg)
{
	struct words *words = arg;
	uint64_t offset = relocation->r_offset - words->address;

	if (relocation->r_offset >= words->address && offset % 8 == 0 && offset / 8 < words->n)
		words->list[offset / 8] = relocation->r_addend;
}

/* Reads `words->n` words at `words->address`; false: no section has them. */
static bool read_words(Elf *elf, struct words *words)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section)) {
		uint64_t offset = words->address - section.header.sh_addr;
		const Elf_Data *data;

		if (!(section.header.sh_flags & SHF_ALLOC) ||
		    words->address < section.header.sh_addr || offset > section.header.sh_size ||
		    section.header.sh_size - offset < words->n * 8)
			continue;
		data = elf_section_read(&section);
		if (!data || data->d_size < offset || data->d_size - offset < words->n * 8)
			continue;
		memcpy(words->list, (const char *)data->d_buf + offset, words->n * 8);
		each_relocation(elf, take_relocation, words);
		return true;
	}
	return false;
}

static bool is_module(const struct go_pclntab *table, const struct words *words)
{
	const uint64_t *list = words->list;

	return list[MODULE_TABLE] == table->address &&
	       list[MODULE_NAMES] == table->address + table->names_at &&
	       list[MODULE_UNITS] == table->address + table->units_at &&
	       list[MODULE_FILES] == table->address + table->files_at &&
	       list[MODULE_INSTRUCTIONS] == table->address + table->instructions_at &&
	       list[MODULE_FUNCTIONS] == table->address + table->functions_at && list[MODULE_TEXT];
}

/* Since Go 1.26 the data is in the table, whose end is the next word. */
static bool is_in_table(const struct go_pclntab *table, const uint64_t *word)
{
	return word[0] > table->address + table->functions_at && word[0] < word[1] &&
	       word[1] <= table->address + table->size;
}

static uint64_t find_data(Elf *elf, const struct go_pclntab *table, const struct words *words)
{
	struct words text = { table->address + TEXT_AT, 1 };

	if (table->is_1_18)
		return words->list[MODULE_DATA_1_18];
	if (read_words(elf, &text) && text.list[0]) /* which Go 1.26 no longer has */
		return words->list[MODULE_DATA_1_20];
	if (is_in_table(table, &words->list[MODULE_DATA_1_20]))
		return words->list[MODULE_DATA_1_20];
	if (is_in_table(table, &words->list[MODULE_DATA_1_27]))
		return words->list[MODULE_DATA_1_27];
	return 0;
}

struct search {
	Elf *elf;
	const struct go_pclntab *table;
	struct go_module *found;
	size_t n;
	bool has_found;
};

static void try_address(struct search *search, uint64_t address)
{
	struct words words = { address, MODULE_WORDS };

	if (search->has_found || search->n++ >= CANDIDATES_MAX ||
	    !read_words(search->elf, &words) || !is_module(search->table, &words))
		return;
	*search->found = (struct go_module){
		.text = words.list[MODULE_TEXT],
		.data = find_data(search->elf, search->table, &words),
	};
	search->has_found = true;
}

static void try_relocation(const Elf64_Rela *relocation, void *arg)
{
	struct search *search = arg;

	if ((uint64_t)relocation->r_addend == search->table->address)
		try_address(search, relocation->r_offset);
}

static void try_section(struct search *search, const struct elf_section *section)
{
	const Elf_Data *data = elf_section_read(section);

	for (size_t at = 0; data && data->d_size - at >= 8; at += 8)
		if (!memcmp((const char *)data->d_buf + at, &search->table->address, 8))
			try_address(search, section->header.sh_addr + at);
}

bool go_module_find(Elf *elf, const struct go_pclntab *table, struct go_module *ret)
{
	struct elf_section section = elf_section_before_first(elf);
	struct search search = { elf, table, ret, 0, false };

	while (!search.has_found && elf_section_next(&section))
		if (section.header.sh_flags & SHF_WRITE)
			try_section(&search, &section);
	if (!search.has_found)
		each_relocation(elf, try_relocation, &search);
	return search.has_found;
}
