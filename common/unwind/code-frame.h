/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Infers a function's frame from its code, where nothing else describes it: JIT compilers publish
 * code, but hardly ever unwind information. Instructions of prologues and epilogues are known;
 * those between are not decoded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/unwind-rule.h"

enum {
	CODE_FRAME_BYTES = 128, /* from a function's start, and from an instruction on */
	/* Larger code is not one function: an interpreter, a collection of stubs. */
	CODE_FRAME_FUNCTION_MAX = 8192,
};

/* An instruction in a function. */
struct code_place {
	uint64_t size, offset; /* of the function; of the instruction in it */
	bool is_exact;	       /* it is being executed; else it follows a call */
	const uint8_t *begin;  /* of the function */
	size_t n_begin;
	const uint8_t *at; /* from the instruction on */
	size_t n_at;
};

enum code_frame {
	CODE_FRAME_UNKNOWN,
	CODE_FRAME_RULE,    /* a rule was found, and is proved */
	CODE_FRAME_POINTER, /* the function has set up a frame pointer */
	CODE_FRAME_NONE,    /* it has not, as far as is seen */
};
