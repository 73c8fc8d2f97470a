/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stubs of a procedure linkage table: code that a linker made and gave no symbols. What each
 * one jumps to is a fact all the same: the relocation of the slot that it jumps through.
 */
#pragma once

#include <libelf.h>
#include <stdint.h>

enum { PLT_MAX = 1 << 18 }; /* stubs of an image; further ones stay unnamed */

struct plt_stub {
	uint64_t address, size;
	const char *target; /* points into the Elf; NULL: what the code at `resolver` chooses */
	uint64_t resolver;
};

/* All stubs of a file, which the caller frees, and how many were too many: 0 or -ENOMEM. */
int plt_find_stubs(Elf *elf, struct plt_stub **ret, size_t *ret_n, size_t *ret_n_refused);
