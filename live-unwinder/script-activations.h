/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the activations of an interpreter's loop among C frames, each of which executes one frame
 * of the script and holds that object's address: in a register, in its own frame, or where what it
 * has called has saved its registers.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/engine.h"
#include "live-unwinder/walk/script-stack.h"

/* Whether a frame executes code of the loop. */
bool script_loop_has(const struct script_loop *loop, const struct wire_frame *frame);

/*
 * Fills in the C frame of each segment, innermost first. A frame that C only prepares is removed.
 * SCRIPT_WHOLE; SCRIPT_CUT: the C frames are not all there, so nobody knows which activation is the
 * outermost; SCRIPT_UNPLACED.
 */
enum script_outcome script_activations_find(struct script_stack *stack,
					    const struct script_loop *loop,
					    const struct unwinding *unwinding,
					    size_t frames[SCRIPT_FRAMES_MAX]);
