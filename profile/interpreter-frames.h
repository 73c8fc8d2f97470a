/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leaves out of a stack what an interpreter does to run a script: its own functions that have
 * called one of the script's, and what starts it. What the script calls stays, down to the kernel.
 */
#pragma once

#include "profile/stacks.h"

/* The argument of --interpreter. */
#define INTERPRETER_WORDS "hide or show"

/* Whether "hide" (true) or "show" (false) is wanted. False: it is another word. */
bool interpreter_frames_parse(const char *text, bool *ret_hides);

/*
 * Copies the frames that remain to `ret`, which has room for all. Returns their number; 0: the
 * stack has no frame of a script, so all remain.
 */
size_t interpreter_frames_hide(const struct names *names, const struct image_table *images,
			       const struct named_stack *stack, struct named_frame *ret);
