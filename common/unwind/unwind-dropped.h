/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a linker drops a function, its FDE stays in .debug_frame with a meaningless address, from
 * which it would cover other code. Mostly that is 0, where the file's headers and data are. gold
 * leaves the function's offset in its section, which may be an address of code. Such an FDE is one
 * of a run from 0 on, one after the other like the functions of a section, and contradicts another
 * FDE, as the code there is another function's.
 */
#pragma once

#include "common/unwind/unwind-table.h"

/* Whether an address, as linked, is in an executable segment, not before its first code. */
bool unwind_source_is_code(const struct unwind_source *source, uint64_t address);

/*
 * Removes the FDEs of dropped functions, and returns how many: they are moved to the end, from
 * cfi->n on, unordered. Without memory only those are found that do not begin in code.
 */
size_t unwind_source_drop_others(const struct unwind_source *source, struct cfi *cfi);
