/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits what libelf and libdw read of an untrusted file. They read and decompress a section whole,
 * whatever size it claims: 2 GiB take 64 KiB of zstd, or nothing as a hole. So sections beyond
 * these limits are hidden from them as soon as a file is open. Readers of DWARF limit it
 * (elf-section.h).
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	ELF_TABLES_MAX = 192 << 20, /* bytes of all symbols, strings, relocations, … of a file */
	ELF_LOADED_MAX = 128 << 20, /* bytes of a section with code or data */
	ELF_OTHER_MAX = 16 << 20,   /* bytes of any other section */
};

/*
 * Hides sections beyond a limit, and compressed ones that are not DWARF; returns how many. Nothing
 * but headers may have been read from `elf` before.
 */
size_t elf_limits_apply(Elf *elf);

/* Bytes of all symbols, strings, relocations, … not hidden; libelf keeps those that were read. */
uint64_t elf_tables_size(Elf *elf);

/* Of a file in memory (no hiding): whether no section is compressed and DWARF <= ELF_LOADED_MAX. */
bool elf_limits_hold(Elf *elf);
