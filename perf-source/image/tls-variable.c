/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "common/elf/static-symbol.h"
#include "perf-source/image/tls-variable.h"

enum { DISTANCE_MAX = 1 << 30 }; /* bytes, of static storage from the thread pointer */

struct variable {
	const struct elf_image *image;
	uint64_t bias;
	int memory;
	uint64_t offset; /* in the module's block */
	size_t index;	 /* of the exported symbol */
};

static bool read_words(const struct variable *variable, uint64_t address, uint64_t *words, size_t n)
{
	size_t size = n * sizeof(*words);

	return pread(variable->memory, words, size, address) == (ssize_t)size;
}

static bool find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
			  struct variable *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Sym symbol;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *text;

		if (!gelf_getsym(data, i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_TLS ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		text = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!text || strcmp(text, name))
			continue;
		ret->offset = symbol.st_value;
		ret->index = i;
		return true;
	}
	return false;
}

static bool find_exported(const char *name, struct variable *variable)
{
	Elf *elf = variable->image->elf;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			return find_in_table(elf, section, &header, name, variable);
	return false;
}

static bool find_local(const char *name, struct variable *variable)
{
	GElf_Sym symbol;

	if (!static_symbol_find(variable->image->elf, name, &symbol) ||
	    GELF_ST_TYPE(symbol.st_info) != STT_TLS)
		return false;
	variable->offset = symbol.st_value;
	return true;
}

static struct context_place static_place(int64_t distance)
{
	return (struct context_place){ .kind = CONTEXT_PLACE_STATIC, .offset = distance };
}

static bool is_static(int64_t distance)
{
	return distance < 0 && distance > -DISTANCE_MAX;
}

static bool place_in_module(const struct variable *variable, uint64_t module,
			    struct context_place *ret)
{
	*ret = (struct context_place){ .kind = CONTEXT_PLACE_DYNAMIC,
				       .module = module,
				       .offset = variable->offset };
	return module && module < INT32_MAX;
}

/* The argument of a descriptor is the distance, or points to the module and the offset there. */
static bool follow_descriptor(const struct variable *variable, uint64_t argument,
			      struct context_place *ret)
{
	uint64_t index[2];

	if (is_static(argument)) {
		*ret = static_place(argument);
		return true;
	}
	return read_words(variable, argument, index, 2) && index[1] == variable->offset &&
	       place_in_module(variable, index[0], ret);
}

/* A relocation of the variable by its symbol: this is how the module itself finds it. */
static bool is_by_symbol(const struct variable *variable, const GElf_Rela *rela)
{
	return GELF_R_SYM(rela->r_info) == variable->index;
}

/* One without a symbol is of this module: of all its variables, or of that at an offset. */
static bool is_by_offset(const struct variable *variable, const GElf_Rela *rela)
{
	return !GELF_R_SYM(rela->r_info) && (GELF_R_TYPE(rela->r_info) == R_X86_64_DTPMOD64 ||
					     (uint64_t)rela->r_addend == variable->offset);
}

/* Follows a relocation of x86-64. False: it is none of thread-local storage, or not resolved. */
static bool follow(const struct variable *variable, const GElf_Rela *rela,
		   struct context_place *ret)
{
	uint64_t address = variable->bias + rela->r_offset, words[2];

	switch (GELF_R_TYPE(rela->r_info)) {
	case R_X86_64_DTPMOD64:
		return read_words(variable, address, words, 1) &&
		       place_in_module(variable, words[0], ret);
	case R_X86_64_TLSDESC:
		return read_words(variable, address, words, 2) &&
		       follow_descriptor(variable, words[1], ret);
	case R_X86_64_TPOFF64:
		if (!read_words(variable, address, words, 1) || !is_static(words[0]))
			return false;
		*ret = static_place(words[0]);
		return true;
	default:
		return false;
	}
}

static bool follow_relocations(const struct variable *variable,
			       bool (*is_one)(const struct variable *, const GElf_Rela *),
			       struct context_place *ret)
{
	Elf *elf = variable->image->elf;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Rela rela;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		size_t n;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC) || !header.sh_entsize)
			continue;
		data = elf_getdata(section, NULL);
		n = data ? data->d_size / header.sh_entsize : 0;
		for (size_t i = 0; i < n && i < INT32_MAX; i++)
			if (gelf_getrela(data, i, &rela) && is_one(variable, &rela) &&
			    follow(variable, &rela, ret))
				return true;
	}
	return false;
}

/* Whether a file is a program, and no library: position-independent ones say so. */
static bool is_program(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr header;
	GElf_Dyn entry;

	if (!gelf_getehdr(elf, &file))
		return false;
	if (file.e_type == ET_EXEC)
		return true;
	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
			if (entry.d_tag == DT_FLAGS_1)
				return entry.d_un.d_val & DF_1_PIE;
	}
	return false;
}

/* The storage of the program ends at the thread pointer, as its alignment demands (x86-64). */
static bool place_in_program(const struct variable *variable, struct context_place *ret)
{
	Elf *elf = variable->image->elf;
	GElf_Phdr segment;
	size_t n;

	if (!is_program(elf) || elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n && i < ELF_IMAGE_SEGMENTS_MAX; i++) {
		uint64_t align, size;

		if (!gelf_getphdr(elf, i, &segment) || segment.p_type != PT_TLS)
			continue;
		align = segment.p_align ? segment.p_align : 1;
		size = (segment.p_memsz + align - 1) / align * align;
		*ret = static_place(variable->offset - size);
		return is_static(variable->offset - size);
	}
	return false;
}

int tls_variable_find(const struct elf_image *image, uint64_t bias, int memory, const char *name,
		      struct context_place *ret)
{
	struct variable variable = { image, bias, memory };

	if (image->machine != EM_X86_64 || !find_exported(name, &variable))
		return TLS_VARIABLE_NONE;
	if (follow_relocations(&variable, is_by_symbol, ret) ||
	    follow_relocations(&variable, is_by_offset, ret) || place_in_program(&variable, ret))
		return 0;
	return TLS_VARIABLE_UNKNOWN;
}

int tls_variable_find_local(const struct elf_image *image, uint64_t bias, int memory,
			    const char *name, struct context_place *ret)
{
	struct variable variable = { image, bias, memory };

	if (image->machine != EM_X86_64 || !find_local(name, &variable))
		return TLS_VARIABLE_NONE;
	return follow_relocations(&variable, is_by_offset, ret) || place_in_program(&variable, ret)
		       ? 0
		       : TLS_VARIABLE_UNKNOWN;
}
