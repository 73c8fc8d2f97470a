/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Between the pop of the frame pointer (pop, leave) and the return, gcc and clang leave the rule as
 * it was: the caller's frame pointer is said to lie at a place that is now below the stack pointer,
 * where the kernel has captured nothing, although it is back in its register. Callers that keep a
 * frame pointer would be lost. Of a function that realigns its stack gcc says in the same way that
 * the caller's frame pointer lies where the frame pointer points, which is another frame's by then.
 *
 * The rules alone do not prove it. A slot that was at or above the stack pointer and has come to
 * lie below it was popped, or is still in use in the red zone (psABI x86-64, 3.2.2), as
 * hand-written code does. The instruction before decides: only what the code has popped is mended.
 */
#pragma once

#include <stdbool.h>

#include "common/unwind/unwind-arch.h"
#include "common/unwind/unwind-rule.h"

/* Follows the rules of one description, in the order of its code. */
struct popped_fp {
	int32_t offset; /* of the slot, from the CFA */
	bool was_held;	/* it was at or above the stack pointer */
	bool is_popped; /* and the code has popped it since */
};

/*
 * Mends the next rule, which holds from an offset in the file on: a frame pointer that was popped
 * is UNWIND_VALUE_SAME. How many bytes before that offset it was so already, which only realigned
 * functions do not tell: 0 for all others. Without `code` nothing is mended.
 */
size_t popped_fp_infer(struct popped_fp *popped, const struct unwind_arch *arch,
		       struct unwind_code *code, uint64_t offset, struct unwind_rule *rule);

/* Takes the rule for one whose frame pointer was popped. */
void popped_fp_set(struct unwind_rule *rule);
