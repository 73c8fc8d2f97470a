/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PLT stubs: linker-made code without symbols. The relocation of a stub's slot gives its target. */
#pragma once

#include <libelf.h>
#include <stdint.h>

enum { PLT_MAX = 1 << 18 }; /* stubs per image; further ones have no names */

struct plt_stub {
	uint64_t address, size;
	const char *target; /* points into the Elf; NULL: chosen by `resolver` */
	uint64_t resolver;
};

/* Finds a file's stubs, to be freed by the caller; counts those beyond PLT_MAX. 0 or -ENOMEM. */
int plt_find_stubs(Elf *elf, struct plt_stub **ret, size_t *ret_n, size_t *ret_n_refused);
