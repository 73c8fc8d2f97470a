/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the code of a function tells of its frame, where nothing else does: JIT compilers tell their
 * code, but hardly ever its unwind information. Instructions of prologues and epilogues are known;
 * what lies between is not looked at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/unwind/unwind-rule.h"

enum {
	CODE_FRAME_BYTES = 128, /* of a function's beginning, and from an instruction on */
	/* Larger code is more than one function: an interpreter, a collection of stubs. */
	CODE_FRAME_FUNCTION_MAX = 8192,
};

/* A place in a function. */
struct code_place {
	uint64_t size, offset; /* of the function; of the place in it */
	bool is_exact;	       /* an instruction that runs now; else one behind a call */
	const uint8_t *begin;  /* of the function */
	size_t n_begin;
	const uint8_t *at; /* from the place on */
	size_t n_at;
};

enum code_frame {
	CODE_FRAME_UNKNOWN,
	CODE_FRAME_RULE,    /* there is a rule, and it is proved */
	CODE_FRAME_POINTER, /* the function has set up a frame pointer */
	CODE_FRAME_NONE,    /* it has not, and keeps none as far as is seen */
};
