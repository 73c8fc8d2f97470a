/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of procedure linkage tables, as linkers write it: a handful of instructions. What they
 * do to the stack is known from their bytes, where lld, mold and (in static programs) GNU ld write
 * no unwind information.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/cfi-program.h"

/* A part of a loaded section of code. */
struct plt_code {
	uint64_t address; /* of its first byte, as linked */
	const uint8_t *bytes;
	size_t size;
};

/*
 * The rules of a section of x86-64, from its first byte on up to its last. `rows` is told nothing
 * where one instruction is not known, or two ways lead to the table's head with different stacks.
 * 1: the section is refused; 0 or -errno of `rows`.
 */
int plt_x86_64_rows(const struct plt_code *code, const struct cfi_rows *rows);

/*
 * How many bytes of a section of x86-64 are its first stub, with the padding behind it, and the
 * address of the slot that the stub jumps through (0: it is no stub that does). 0: code that is not
 * known.
 */
size_t plt_x86_64_stub(const struct plt_code *code, uint64_t *ret_slot);
