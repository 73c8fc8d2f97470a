/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Between the pop of the frame pointer (pop, leave) and the return, gcc and clang leave the rule as
 * it was: the caller's frame pointer is said to lie at a place that is now below the stack pointer,
 * where the kernel has captured nothing, although it is back in its register. Callers that keep a
 * frame pointer would be lost.
 *
 * A slot that was at or above the stack pointer and has come to lie below it was popped. What was
 * saved below the stack pointer from the beginning (in the red zone) is still there: psABI x86-64,
 * 3.2.2.
 */
#pragma once

#include <stdbool.h>

#include "common/unwind-rule.h"

/* Follows the rules of one description, in the order of its code. */
struct popped_fp {
	int32_t offset; /* of the slot, from the CFA */
	bool was_held;	/* it was at or above the stack pointer */
};

/* Mends the next rule: a frame pointer that was popped is UNWIND_VALUE_SAME. */
void popped_fp_mend(struct popped_fp *popped, struct unwind_rule *rule);
