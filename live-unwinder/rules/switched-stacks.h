/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that coroutines begin with, and that switch between them, of which files' unwind
 * information knows nothing. greenlet copies pieces of the C stack to the heap and back
 * (src/greenlet/TGreenlet.cpp): what is further out than the function that a coroutine began with
 * is of whoever ran there last; and while pieces are copied, the stack is of nobody. Boost.Context
 * gives each coroutine a stack of its own (also as fibers of PHP are made of it): what
 * make_fcontext() has put there has no caller (src/asm/make_x86_64_sysv_elf_gas.S).
 */
#pragma once

#include "common/elf/elf-image.h"
#include "common/unwind/unwind-rule.h"

enum { SWITCHED_STACKS_FUNCTIONS = 4 };

/* Where the functions are, as offsets in a file; 0 and 0: the file has none. */
struct switched_stacks {
	struct {
		uint64_t from, to;
	} functions[SWITCHED_STACKS_FUNCTIONS];
};

void switched_stacks_find(const struct elf_image *file, struct switched_stacks *ret);

/* The rule at a file offset; NULL: it is in none of them. */
const struct unwind_rule *switched_stacks_rule(const struct switched_stacks *stacks,
					       uint64_t offset);
