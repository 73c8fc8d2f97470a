/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sections of a file that have a name, one after the other:
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

enum {
	ELF_COMPRESSED_MAX = 128 << 20
}; /* bytes of a section in the file that may be decompressed */

struct elf_section {
	Elf *elf;	  /* borrowed */
	size_t names;	  /* where its sections' names are; 0: nowhere */
	Elf_Scn *handle;  /* NULL: before the first one */
	GElf_Shdr header; /* as is the name, of the section that elf_section_next() came to */
	const char *name; /* the file's: as long as it is open */
};

struct elf_section elf_section_before_first(Elf *elf);

/* Goes on to the next; false: there is none. */
bool elf_section_next(struct elf_section *section);

/* Whether it has DWARF of any kind, compressed in the older way or not. */
bool elf_section_is_dwarf(const struct elf_section *section);

/* Whether it is code of a procedure linkage table; linkers call these by fixed names. */
bool elf_section_is_plt(const struct elf_section *section);

/*
 * Bytes that it takes once it is read, and decompressed in either way; as it says itself.
 * UINT64_MAX: it is compressed, and too large as it is.
 */
uint64_t elf_section_size_in_memory(const struct elf_section *section);

/* Hides it from libdw. Not of a file in memory: its headers would be written to there. */
void elf_section_hide(struct elf_section *section);

/* Bytes that all DWARF of a file takes in libdw, which reads and decompresses it without a limit.
 */
uint64_t elf_dwarf_size(Elf *elf);
