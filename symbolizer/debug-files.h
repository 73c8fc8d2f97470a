/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the symbols of a stripped file may be: a separate debug file, by build-id or
 * .gnu_debuglink, or .gnu_debugdata in the file itself. A separate file is believed only if its
 * build-id is the same (or, where there is none, its CRC).
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	DEBUG_DIRS_MAX = 16,
	DEBUG_DATA_MAX = 64 * 1024 * 1024,     /* of .gnu_debugdata, decompressed */
	DEBUG_DATA_MEMORY = 128 * 1024 * 1024, /* for decompressing it */
};

struct debug_dirs {
	const char *list[DEBUG_DIRS_MAX]; /* like /usr/lib/debug */
	size_t n;
};

struct debug_file {
	Elf *elf;
	int fd;	      /* -1: in memory */
	void *memory; /* decompressed */
};

/* Finds what has a .symtab; false: nothing was found. `path` is where the file lies. */
bool debug_file_find(Elf *elf, const char *path, const struct debug_dirs *dirs,
		     struct debug_file *ret);
void debug_file_close(struct debug_file *file);
