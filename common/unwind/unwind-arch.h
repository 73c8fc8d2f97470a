/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What code and unwind information mean on an architecture; any file can be read on any machine.
 * One file each, unwind-<cpu>.c; the machine itself: common/arch/arch.h.
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
	UNWIND_CODE_BEFORE = 8, /* bytes; the longest instructions that are decoded */
	UNWIND_CODE_BEHIND = 5,
	UNWIND_THUNK_MIN = 17, /* bytes of thunks */
	UNWIND_THUNK_MAX = 24,
	UNWIND_FUNCTION_MAX = 1 << 16, /* bytes; longer code counts as more than one function */
};

struct cfi_rows;

/*
 * A part of a loaded section of a procedure linkage table, as linkers write it: a few instructions.
 * lld, mold and (in static programs) GNU ld write no unwind information for it.
 */
struct plt_code {
	uint64_t address; /* of its first byte, as linked */
	const uint8_t *bytes;
	size_t size;
};

/* The instruction before a return address. */
enum unwind_call {
	UNWIND_CALL_UNKNOWN, /* unreadable, or not decoded */
	UNWIND_CALL_NONE,
	UNWIND_CALL_DIRECT,
	UNWIND_CALL_INDIRECT, /* through a register or memory */
};

/* Where in a thunk the return address that its own call pushed is on the stack. */
struct unwind_thunk {
	uint64_t from, to; /* offsets from its start; `to` may be its end */
};

struct unwind_arch {
	const struct arch *base; /* the machine itself */
	/* Turns a CFA expression into a form, or UNWIND_CFA_FALLBACK. NULL: compilers emit none. */
	void (*classify_cfa)(const uint8_t *expression, size_t size, struct unwind_rule *rule);
	/*
	 * Whether UNWIND_CODE_BEFORE bytes of code end with a pop of the frame pointer. The second
	 * finds a pop before an instruction that restores the stack pointer, and returns the size
	 * of that instruction; 0: no. NULL: compilers describe pops in unwind information.
	 */
	bool (*is_pop_of_fp)(const uint8_t *before);
	size_t (*find_pop_of_realigned)(const uint8_t *before);
	/*
	 * Which call the UNWIND_CODE_BEFORE bytes may end with; UNWIND_CODE_BEHIND bytes follow
	 * (zero: unreadable). NULL: calls are not decoded.
	 */
	enum unwind_call (*find_call_before)(const uint8_t *before, const uint8_t *behind);
	/*
	 * Where a function that ends with __builtin_eh_return() begins to overwrite the registers
	 * that it saved, if `rule`, which holds from `offset` on, is that of its end; 0: it is
	 * none, or the code is unknown. Both are file offsets.
	 */
	uint64_t (*find_install)(const struct unwind_rule *rule, struct unwind_code *code,
				 uint64_t offset);
	/*
	 * Whether this is exactly a thunk against speculation, which calls an address in itself and
	 * never returns to after that call. NULL: there are none.
	 */
	bool (*find_thunk)(const uint8_t *code, size_t size, struct unwind_thunk *ret);
	/*
	 * Emits the rules of a PLT's code, from its first byte to its last; none if an instruction
	 * is unknown, or if two ways to the head differ in what is pushed. 1: the PLT is refused; 0
	 * or -errno of `rows`. NULL: PLTs are not decoded.
	 */
	int (*plt_rows)(const struct plt_code *code, const struct cfi_rows *rows);
	/*
	 * Size of the first stub in a PLT's code with the padding after it (0: unknown code), and
	 * the address of the slot that it jumps through (0: none). NULL: PLTs are not decoded.
	 */
	size_t (*plt_stub)(const struct plt_code *code, uint64_t *ret_slot);
	uint32_t plt_resolved_relocation; /* relocation type whose addend is the function */
	/*
	 * Whether another function may begin in code that begins at `address` and has no recorded
	 * size: an assembler's, in a file without unwind information. A function ends after a
	 * return, a trap, or a jump to a register or out of the function, if padding or an address
	 * to which functions are aligned follows. NULL: it may.
	 */
	bool (*function_end_is_within)(const uint8_t *code, size_t size, uint64_t address);
	/* Infers a frame from code (code-frame.h); sets `ret` for CODE_FRAME_RULE. NULL: cannot. */
	enum code_frame (*find_frame)(const struct code_place *place, struct unwind_rule *ret);
	/*
	 * The sizes of frames that code sets up: bytes from the frame pointer down to the stack
	 * pointer, up to `n_max` of them. Returns how many. NULL: cannot.
	 */
	size_t (*find_frame_sizes)(const uint8_t *code, size_t n, uint32_t *ret, size_t n_max);
};

extern const struct unwind_arch unwind_x86_64, unwind_aarch64;

/* Parts of unwind_x86_64, a file each. */
size_t code_frame_sizes_x86_64(const uint8_t *code, size_t n, uint32_t *ret, size_t n_max);
int plt_x86_64_rows(const struct plt_code *code, const struct cfi_rows *rows);
size_t plt_x86_64_stub(const struct plt_code *code, uint64_t *ret_slot);
bool function_end_x86_64(const uint8_t *code, size_t size, uint64_t address);
enum code_frame code_frame_x86_64(const struct code_place *place, struct unwind_rule *ret);

/* As arch_find(); NULL: no tables are made for that machine. */
const struct unwind_arch *unwind_arch_find(uint16_t elf_machine);
