/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where code of BEAM's compiler has its return address (x86-64: erts/emulator/beam/jit/x86). A
 * function's frame is of terms that have no other mark than the size by which the function removes
 * it, so its instructions are followed up to a return, or to a jump that leaves the function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code around what it executes, which is at an offset. */
struct beam_code {
	const uint8_t *bytes;
	size_t n, at;
	uint64_t address;
	uint64_t from, to; /* the function that has it, with its head; 0: none is known */
	uint8_t head;	   /* bytes in front of the function's first instruction */
	int64_t top;	   /* where a process notes the top of its stack */
};

/* The stack pointer of the process: as code has it, or has kept it while it calls C. */
struct beam_stack {
	bool is_own;	/* the stack pointer is that of the process */
	uint64_t sp;	/* if it is; else: */
	uint64_t noted; /* what the process has noted, */
	uint64_t saved; /* and the frame pointer; 0: it is not known */
};

/*
 * Finds the place on the stack of the process that has the return address, and where the stack
 * pointer is now. False: it is not known.
 */
bool beam_code_find_return(const struct beam_code *code, const struct beam_stack *stack,
			   uint64_t *ret_sp, uint64_t *ret);
