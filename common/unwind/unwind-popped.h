/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Corrects rules after the pop of a frame pointer. Between that (pop, leave) and the return, gcc
 * and clang do not change the rule: the caller's frame pointer seems to be below the stack pointer,
 * where the kernel has captured nothing, although it is back in its register. Callers with a frame
 * pointer would be lost. For a function that realigns its stack gcc likewise has the caller's frame
 * pointer where the frame pointer points, which is another frame's by then.
 *
 * The rules alone prove nothing. A slot that was at or above the stack pointer and is now below it
 * was popped, or is still in use in the red zone (psABI x86-64, 3.2.2), as in hand-written code.
 * The instruction before decides: only after a pop in the code is the rule corrected.
 */
#pragma once

#include <stdbool.h>

#include "common/unwind/unwind-arch.h"
#include "common/unwind/unwind-rule.h"

/* Follows the rules of one FDE, in the order of its code. */
struct popped_fp {
	int32_t offset; /* of the slot, from the CFA */
	bool was_held;	/* the slot was at or above the stack pointer */
	bool is_popped; /* and the code has popped it since then */
};

/*
 * Corrects the next rule, which holds from a file offset on: a popped frame pointer becomes
 * UNWIND_VALUE_SAME. Returns how many bytes before that offset it was popped already; 0 except in
 * realigned functions. Without `code` nothing is corrected.
 */
size_t popped_fp_infer(struct popped_fp *popped, const struct unwind_arch *arch,
		       struct unwind_code *code, uint64_t offset, struct unwind_rule *rule);

/* Marks a rule's frame pointer as popped. */
void popped_fp_set(struct unwind_rule *rule);
