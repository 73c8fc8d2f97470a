/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/elf/elf-section.h"
#include "common/unwind/unwind-arch.h"
#include "symbolizer/symbols/plt.h"

enum { STUB_SIZE = 16 }; /* of unknown code */

/* A slot that the dynamic linker fills with a symbol's address, or with a resolver's result. */
struct slot {
	uint64_t address;
	const char *name; /* NULL: the code at `resolver` chooses */
	uint64_t resolver;
};

struct slots {
	const struct unwind_arch *arch;
	struct slot *list;
	size_t n;
};

static int compare(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;

	return left->address < right->address ? -1 : left->address > right->address;
}

static const char *symbol_name_of(Elf *elf, const GElf_Shdr *relocations, size_t index)
{
	Elf_Scn *section = elf_getscn(elf, relocations->sh_link);
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM ||
	    !gelf_getsym(elf_getdata(section, NULL), index, &symbol))
		return NULL;
	return elf_strptr(elf, header.sh_link, symbol.st_name);
}

static int add_slots(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct slots *slots)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	if (n > PLT_MAX - slots->n)
		n = PLT_MAX - slots->n;
	if (GROWING_LIST_RESIZE(slots->list, slots->n + n + 1) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Rela relocation;
		const char *name;

		if (!gelf_getrela(data, i, &relocation))
			continue;
		if (GELF_R_TYPE(relocation.r_info) == slots->arch->plt_resolved_relocation) {
			slots->list[slots->n++] =
				(struct slot){ relocation.r_offset, NULL, relocation.r_addend };
			continue;
		}
		if (!GELF_R_SYM(relocation.r_info))
			continue;
		name = symbol_name_of(elf, header, GELF_R_SYM(relocation.r_info));
		if (name && *name)
			slots->list[slots->n++] = (struct slot){ relocation.r_offset, name, 0 };
	}
	return 0;
}

static int find_slots(Elf *elf, struct slots *slots)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr header;
	int r = 0;

	slots->arch = gelf_getehdr(elf, &file) ? unwind_arch_find(file.e_machine) : NULL;
	if (!slots->arch || !slots->arch->plt_stub)
		return 0;
	while (r == 0 && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			r = add_slots(elf, section, &header, slots);
	if (slots->n)
		qsort(slots->list, slots->n, sizeof(*slots->list), compare);
	return r;
}

static const struct slot *find_slot(const struct slots *slots, uint64_t address)
{
	const struct slot wanted = { .address = address };

	return address ? bsearch(&wanted, slots->list, slots->n, sizeof(wanted), compare) : NULL;
}

struct stubs {
	struct plt_stub *list;
	size_t n, n_refused;
};

static int add_stub(struct stubs *stubs, uint64_t address, uint64_t size, const struct slot *slot)
{
	if (stubs->n == PLT_MAX) {
		stubs->n_refused++;
		return 0;
	}
	return GROWING_LIST_ADD(stubs->list, stubs->n,
				(struct plt_stub){ address, size, slot->name, slot->resolver });
}

/* Adds the stubs of a section; unknown code is skipped. */
static int add_stubs(Elf_Scn *section, const GElf_Shdr *header, const struct slots *slots,
		     struct stubs *stubs)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t size = data && data->d_buf ? data->d_size : 0, at = 0;
	int r = 0;

	while (at < size && r == 0) {
		const struct plt_code rest = {
			.address = header->sh_addr + at,
			.bytes = (const uint8_t *)data->d_buf + at,
			.size = size - at,
		};
		uint64_t address;
		size_t stub_size = slots->arch->plt_stub(&rest, &address);
		const struct slot *slot = find_slot(slots, address);

		if (slot)
			r = add_stub(stubs, rest.address, stub_size, slot);
		at += stub_size ? stub_size : STUB_SIZE;
	}
	return r;
}

int plt_find_stubs(Elf *elf, struct plt_stub **ret, size_t *ret_n, size_t *ret_n_refused)
{
	struct slots slots = { 0 };
	struct stubs stubs = { 0 };
	struct elf_section section = elf_section_before_first(elf);
	int r = find_slots(elf, &slots);

	while (r == 0 && slots.n && elf_section_next(&section))
		if (elf_section_is_plt(&section))
			r = add_stubs(section.handle, &section.header, &slots, &stubs);
	free(slots.list);
	*ret = NULL;
	*ret_n = 0;
	*ret_n_refused = stubs.n_refused;
	if (r < 0) {
		free(stubs.list);
		return r;
	}
	*ret = stubs.list;
	*ret_n = stubs.n;
	return 0;
}
