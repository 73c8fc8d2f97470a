/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of a function that a linker has dropped its description in .debug_frame stays, with an address
 * that means nothing, and from there it would cover the code of others. Mostly that is 0, where the
 * file's headers and data lie. gold leaves a function's offset in its section, which may be where
 * code is: then it belongs to those that begin at 0 and behind each other, as the functions of one
 * section do, and contradicts another description, as what is there is another function.
 */
#pragma once

#include "common/unwind/unwind-table.h"

/* Whether code lies at an address, as linked, or behind it in its segment. */
bool unwind_source_is_code(const struct unwind_source *source, uint64_t address);

/*
 * Takes the descriptions of what was dropped out: how many. They lie behind the others then, from
 * cfi->n on, in any order. Without memory only those are found that do not begin in code.
 */
size_t unwind_source_drop_others(const struct unwind_source *source, struct cfi *cfi);
