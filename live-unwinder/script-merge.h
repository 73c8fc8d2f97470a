/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts the frames of a script between the C frames of a stack: those of a segment inside of the C
 * frame in which its anchor lies, or that holds its anchor (script-activations.h). Counting
 * activations alone would accept frames of another interpreter.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/engine.h"
#include "live-unwinder/walk/script-stack.h"

/*
 * `unwinding` has the stack pointers of its frames, and room for those of the script. SCRIPT_WHOLE;
 * SCRIPT_CUT: C frames end before the last segments, which are left out; SCRIPT_UNPLACED: nothing
 * was put.
 */
enum script_outcome script_merge(struct script_stack *stack, const struct script_loop *loop,
				 uint32_t mapping, struct unwinding *unwinding);
