/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/elf-section.h"
#include "symbolizer/plt.h"

enum { STUB_SIZE = 16 }; /* where a section does not tell */

/* A slot that the dynamic linker fills with the address of a symbol. */
struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
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
	struct slot *list;

	if (n > PLT_MAX - slots->n)
		n = PLT_MAX - slots->n;
	list = reallocarray(slots->list, slots->n + n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	slots->list = list;
	for (size_t i = 0; i < n; i++) {
		GElf_Rela relocation;
		const char *name;

		if (!gelf_getrela(data, i, &relocation) || !GELF_R_SYM(relocation.r_info))
			continue;
		name = symbol_name_of(elf, header, GELF_R_SYM(relocation.r_info));
		if (name && *name)
			list[slots->n++] = (struct slot){ relocation.r_offset, name };
	}
	return 0;
}

static int find_slots(Elf *elf, struct slots *slots)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int r = 0;

	while (r == 0 && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			r = add_slots(elf, section, &header, slots);
	if (slots->n)
		qsort(slots->list, slots->n, sizeof(*slots->list), compare);
	return r;
}

/* The stubs of one section. */
static int add_stubs(Elf_Scn *section, const GElf_Shdr *header, const struct slots *slots,
		     struct plt_stub **stubs, size_t *n_stubs, size_t *n_refused)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	size_t size = header->sh_entsize >= 8 && header->sh_entsize <= 64 ? header->sh_entsize
									  : STUB_SIZE;
	size_t n = data && data->d_buf ? data->d_size / size : 0;
	struct plt_stub *list;

	if (n > PLT_MAX - *n_stubs) {
		*n_refused += n - (PLT_MAX - *n_stubs);
		n = PLT_MAX - *n_stubs;
	}
	list = reallocarray(*stubs, *n_stubs + n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	*stubs = list;
	for (size_t i = 0; i < n; i++) {
		struct slot wanted = {
			.address = plt_slot((unsigned char *)data->d_buf + i * size, size,
					    header->sh_addr + i * size),
		};
		const struct slot *slot =
			wanted.address && slots->n
				? bsearch(&wanted, slots->list, slots->n, sizeof(wanted), compare)
				: NULL;

		if (slot)
			list[(*n_stubs)++] =
				(struct plt_stub){ header->sh_addr + i * size, size, slot->name };
	}
	return 0;
}

int plt_find_stubs(Elf *elf, struct plt_stub **ret, size_t *ret_n, size_t *ret_n_refused)
{
	struct slots slots = { 0 };
	_cleanup_free_ struct plt_stub *stubs = NULL;
	struct elf_section section = elf_section_before_first(elf);
	size_t n = 0;
	int r = find_slots(elf, &slots);

	*ret_n_refused = 0;
	while (r == 0 && slots.n && elf_section_next(&section))
		if (section.header.sh_type == SHT_PROGBITS &&
		    section.header.sh_flags & SHF_EXECINSTR && !strncmp(section.name, ".plt", 4))
			r = add_stubs(section.handle, &section.header, &slots, &stubs, &n,
				      ret_n_refused);
	free(slots.list);
	if (r == 0) {
		*ret = take_pointer(stubs);
		*ret_n = n;
	}
	return r;
}
