/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that a file shares DWARF with, which dwz has made (.gnu_debugaltlink). libdw would look
 * for it by itself, and believe what it finds: here its build-id is compared.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbolizer/dwarf/debug-files.h"

struct debug_alt {
	struct debug_file file;
	Dwarf *dwarf; /* NULL: nothing is shared */
};

/*
 * Gives `dwarf` the other file that it refers to; if that is not found, one that is empty, so that
 * what it would have told stays unknown. `path` is where the first one lies. 0 or -ENOMEM.
 */
int debug_alt_attach(struct debug_alt *alt, Dwarf *dwarf, const char *path,
		     const struct debug_dirs *dirs, uint64_t size_max);

/* Bytes that it takes in memory. */
uint64_t debug_alt_size(const struct debug_alt *alt);
void debug_alt_deinit(struct debug_alt *alt);
