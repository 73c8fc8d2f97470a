/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Iterates over the named sections of a file:
 *
 *	struct elf_section section = elf_section_before_first(elf);
 *
 *	while (elf_section_next(&section))
 *		…
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

enum { ELF_COMPRESSED_MAX = 128 << 20 }; /* bytes of a compressed section in the file */

struct elf_section {
	Elf *elf;	  /* borrowed */
	size_t names;	  /* section of the names; 0: none */
	Elf_Scn *handle;  /* NULL: before the first one */
	GElf_Shdr header; /* of the current section, as is the name */
	const char *name; /* owned by the Elf */
};

struct elf_section elf_section_before_first(Elf *elf);

/* Advances to the next section; false: there is none. */
bool elf_section_next(struct elf_section *section);

/* Whether it holds DWARF of any kind, compressed in the older format or not. */
bool elf_section_is_dwarf(const struct elf_section *section);

/* Whether it is code of a procedure linkage table, by the fixed names that linkers use. */
bool elf_section_is_plt(const struct elf_section *section);

/* Its size once decompressed, as it claims; UINT64_MAX: compressed beyond ELF_COMPRESSED_MAX. */
uint64_t elf_section_size_in_memory(const struct elf_section *section);

/* Its bytes, which the Elf keeps; NULL: none, or more than ELF_LOADED_MAX (elf-limits.h). */
const Elf_Data *elf_section_read(const struct elf_section *section);

/* Hides it from libdw. Not for a file in memory, whose headers would be overwritten. */
void elf_section_hide(struct elf_section *section);

/* Bytes that a file's DWARF takes in libdw, which reads and decompresses it without a limit. */
uint64_t elf_dwarf_size(Elf *elf);
