/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How to get from a frame to its caller, in the few forms that compilers and assemblers really use.
 * Anything else is FALLBACK: an engine that meets it must not guess.
 */
#pragma once

#include <stdint.h>

/* The canonical frame address: the caller's stack pointer. */
enum unwind_cfa {
	UNWIND_CFA_SP = 1,   /* sp + cfa_offset */
	UNWIND_CFA_FP,	     /* fp + cfa_offset */
	UNWIND_CFA_REGISTER, /* register cfa_register + cfa_offset: known in the sampled frame only
			      */
	UNWIND_CFA_AT_SP,    /* the word at sp + cfa_offset, + cfa_addend */
	UNWIND_CFA_AT_FP,    /* the word at fp + cfa_offset, + cfa_addend */
	UNWIND_CFA_PLT,	 /* sp + cfa_offset; 8 more from byte cfa_register of a 16-byte stub on */
	UNWIND_CFA_LOST, /* the frame is being overwritten, and the caller is lost */
	UNWIND_CFA_FALLBACK,
};

/* Where the caller's value of a register is. */
enum unwind_value {
	UNWIND_VALUE_SAME = 1,	/* unchanged */
	UNWIND_VALUE_UNDEFINED, /* nowhere; as the return address: there is no caller */
	UNWIND_VALUE_AT_CFA,	/* the word at cfa + offset */
	UNWIND_VALUE_AT_SP,	/* the word at sp + offset */
	UNWIND_VALUE_AT_FP,	/* the word at fp + offset */
	UNWIND_VALUE_REGISTER,	/* in register `offset`: known in the sampled frame only */
	UNWIND_VALUE_FALLBACK,
};

enum {
	UNWIND_FLAG_SIGNAL = 1,	   /* a signal frame: its caller was interrupted; it made no call */
	UNWIND_FLAG_USER_RULE = 2, /* a user's, or ours: overrides the file's unwind information */
	UNWIND_FLAG_INFERRED = 4,  /* missing in the file's unwind information */
	UNWIND_FLAG_CONTRADICTS = 8, /* the file's unwind information contradicts its code */
};

struct unwind_rule {
	uint8_t cfa; /* enum unwind_cfa */
	uint8_t cfa_register;
	uint8_t return_address; /* enum unwind_value */
	uint8_t fp;		/* enum unwind_value */
	uint32_t flags;
	int32_t cfa_offset, cfa_addend;
	int32_t return_address_offset;
	int32_t fp_offset;
};
