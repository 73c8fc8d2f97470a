/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What libelf and libdw may read of a file that somebody else has made. They read a section whole,
 * and decompress it, however large it says that it is: 2 GiB take 64 KiB of zstd, or nothing as a
 * hole. So what is beyond these limits is hidden from them as soon as a file is open. DWARF is left
 * to those who read it (elf-section.h).
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	ELF_TABLES_MAX = 192 << 20, /* bytes of all symbols, strings, relocations, … of a file */
	ELF_LOADED_MAX = 128 << 20, /* of a section with code or data */
	ELF_OTHER_MAX = 16 << 20,   /* of any other one */
};

/*
 * Hides what is beyond a limit, and every section that is compressed and no DWARF: how many those
 * are. Nothing must have been asked of `elf` before but its headers.
 */
size_t elf_limits_apply(Elf *elf);

/*
 * Bytes of all symbols, strings, relocations, … that are not hidden: what libelf keeps of them
 * until the file is closed, once each has been asked for.
 */
uint64_t elf_tables_size(Elf *elf);

/* Of a file in memory, in which nothing can be hidden: whether nothing in it unfolds. */
bool elf_limits_hold(Elf *elf);
