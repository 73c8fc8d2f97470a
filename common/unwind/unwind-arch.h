/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What code and unwind information mean on an architecture: those of any of them can be read
 * anywhere. One file each, unwind-<cpu>.c; what the machine is: common/arch/arch.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arch/arch.h"
#include "common/unwind/code-frame.h"
#include "common/unwind/unwind-code.h"
#include "common/unwind/unwind-rule.h"

enum {
	UNWIND_CODE_BEFORE = 8, /* bytes: the longest instructions that are looked for */
	UNWIND_CODE_BEHIND = 5,
	UNWIND_THUNK_MIN = 17, /* bytes of thunks */
	UNWIND_THUNK_MAX = 24,
	UNWIND_FUNCTION_MAX = 1 << 16, /* bytes of one whose end is looked for; none is longer */
};

struct cfi_rows;

/*
 * A part of a loaded section of a procedure linkage table, as linkers write it: a handful of
 * instructions. Lld, mold and (in static programs) GNU ld write no unwind information for it.
 */
struct plt_code {
	uint64_t address; /* of its first byte, as linked */
	const uint8_t *bytes;
	size_t size;
};

/* What is in front of a return address. */
enum unwind_call {
	UNWIND_CALL_UNKNOWN, /* it cannot be read, or not be told */
	UNWIND_CALL_NONE,
	UNWIND_CALL_DIRECT,
	UNWIND_CALL_INDIRECT, /* of what a register or memory holds */
};

/* Where in a thunk what its own call has pushed is on the stack. */
struct unwind_thunk {
	uint64_t from, to; /* offsets from its beginning; `to` may be its end */
};

struct unwind_arch {
	const struct arch *base; /* what the machine is */
	/* A CFA that is an expression, as one of the forms; UNWIND_CFA_FALLBACK: none of them.
	 * NULL: compilers write none. */
	void (*classify_cfa)(const uint8_t *expression, size_t size, struct unwind_rule *rule);
	/*
	 * Whether the last of UNWIND_CODE_BEFORE bytes of code have popped the frame pointer; and
	 * the same where a restored stack pointer follows: by how many bytes, 0: they have not.
	 * NULL: no compiler leaves it to the code to tell.
	 */
	bool (*is_pop_of_fp)(const uint8_t *before);
	size_t (*find_pop_of_realigned)(const uint8_t *before);
	/*
	 * Which call the last of UNWIND_CODE_BEFORE bytes may be, and UNWIND_CODE_BEHIND bytes
	 * follow (zero: they cannot be read). NULL: that is not told.
	 */
	enum unwind_call (*find_call_before)(const uint8_t *before, const uint8_t *behind);
	/*
	 * Where a function that ends with __builtin_eh_return() begins to overwrite the registers
	 * that it has saved, if `rule`, which holds from `offset` on, is that of its end; 0: it is
	 * none, or that cannot be told. Both are offsets in the file.
	 */
	uint64_t (*find_install)(const struct unwind_rule *rule, struct unwind_code *code,
				 uint64_t offset);
	/*
	 * Whether this is all of a thunk against speculation, which calls a place in itself and
	 * never returns to where it has called from. NULL: there are none.
	 */
	bool (*find_thunk)(const uint8_t *code, size_t size, struct unwind_thunk *ret);
	/*
	 * The rules of a PLT's code, from its first byte on up to its last. `rows` gets nothing
	 * where one instruction is not known, or two ways lead to the table's head with different
	 * stacks. 1: the section is refused; 0 or -errno of `rows`. NULL: there are none.
	 */
	int (*plt_rows)(const struct plt_code *code, const struct cfi_rows *rows);
	/*
	 * How many bytes of a PLT's code are its first stub, with the padding behind it, and the
	 * address of the slot that the stub jumps through (0: it is no stub that does). 0: code
	 * that is not known. NULL: none is.
	 */
	size_t (*plt_stub)(const struct plt_code *code, uint64_t *ret_slot);
	uint32_t plt_resolved_relocation; /* its addend is what chooses the symbol */
	/*
	 * Whether another function may begin in the code of one that begins at `address`, and says
	 * nowhere how long it is: an assembler's, whose file has no unwind information either. It
	 * ends behind what does not go on, if padding follows, or an address to which functions are
	 * aligned: a return, a trap, a jump to a register or out of the function. NULL: it may.
	 */
	bool (*function_end_is_within)(const uint8_t *code, size_t size, uint64_t address);
	/* What code tells of its frame, by code-frame.h; a rule with CODE_FRAME_RULE. NULL:
	 * nothing. */
	enum code_frame (*find_frame)(const struct code_place *place, struct unwind_rule *ret);
};

extern const struct unwind_arch unwind_x86_64, unwind_aarch64;

/* Parts of unwind_x86_64, a file each. */
int plt_x86_64_rows(const struct plt_code *code, const struct cfi_rows *rows);
size_t plt_x86_64_stub(const struct plt_code *code, uint64_t *ret_slot);
bool function_end_x86_64(const uint8_t *code, size_t size, uint64_t address);
enum code_frame code_frame_x86_64(const struct code_place *place, struct unwind_rule *ret);

/* As arch_find(); NULL: not an architecture that tables are made for. */
const struct unwind_arch *unwind_arch_find(uint16_t elf_machine);
