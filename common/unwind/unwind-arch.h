/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What unwind information means on an architecture: any of them can be compiled anywhere. One file
 * each, unwind-<cpu>.c; the numbers are DWARF's (the psABI documents).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/code-frame.h"
#include "common/unwind/unwind-code.h"
#include "common/unwind/unwind-rule.h"

enum {
	UNWIND_CODE_BEFORE = 8, /* bytes: the longest instructions that are looked for */
	UNWIND_CODE_BEHIND = 5,
	UNWIND_THUNK_MIN = 17, /* bytes of thunks */
	UNWIND_THUNK_MAX = 24,
};
struct cfi_rows;
struct plt_code;

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

struct unwind_register {
	const char *name;
	uint8_t number;
};

struct unwind_arch {
	uint16_t machine; /* e_machine */
	uint8_t sp, fp, return_address;
	/* The return address where nothing is said of it: in its register, or nowhere known. */
	enum unwind_value initial_return_address;
	/* A CFA that is an expression, as one of the forms; UNWIND_CFA_FALLBACK: none of them. */
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
	/* Rules from the code of a PLT: see plt_x86_64_rows(). NULL: none can be told. */
	int (*plt_rows)(const struct plt_code *code, const struct cfi_rows *rows);
	/* What code tells of its frame: see code-frame.h. NULL: nothing. */
	enum code_frame (*find_frame)(const struct code_place *place, struct unwind_rule *ret);
	/* Names as an assembler has them; `sp` and `fp` are among them. NULL ends them. */
	const struct unwind_register *registers;
	/* Of code that keeps a frame pointer, behind its prologue. */
	struct unwind_rule usual_frame;
};

extern const struct unwind_arch unwind_x86_64, unwind_aarch64;

/* NULL: not an architecture that tables are made for. */
const struct unwind_arch *unwind_arch_find(uint16_t machine);

/* A register by its name, which need not end with a zero byte; NULL: there is none. */
const struct unwind_register *unwind_arch_register(const struct unwind_arch *arch, const char *name,
						   size_t size);
