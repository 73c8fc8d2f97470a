/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The alternative file with shared DWARF made by dwz (.gnu_debugaltlink). libdw would find it by
 * itself and trust any file; here its build-id is compared.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbolizer/dwarf/debug-files.h"

struct debug_alt {
	struct debug_file file;
	Dwarf *dwarf; /* NULL: no alternative file */
};

/*
 * Attaches the alternative file of `dwarf`; if it is not found, an empty one, so that its
 * information stays unknown. `path` is where the first file lies. 0 or -ENOMEM.
 */
int debug_alt_attach(struct debug_alt *alt, Dwarf *dwarf, const char *path,
		     const struct debug_dirs *dirs, uint64_t size_max);

/* Bytes of its DWARF in memory. */
uint64_t debug_alt_size(const struct debug_alt *alt);
void debug_alt_deinit(struct debug_alt *alt);
