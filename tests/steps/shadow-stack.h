/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The true chain of calls of one thread, kept from the first instruction on by what each one did:
 * a call adds the place of its return address, a return takes it off, a signal adds the place
 * that it interrupted. No unwind information is asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/steps/instruction.h"

enum { SHADOW_STACK_MAX = 65536 };

struct shadow_frame {
	uint64_t address; /* where it goes on */
	uint64_t place;	  /* where that stands in memory */
	bool is_exact;	  /* no call is in front of that address */
	bool is_taken;	  /* popped off the stack, but not returned to yet, as in vfork() */
	bool is_signal;	  /* a signal came there; its handler runs on this stack: */
	uint64_t low, high;
};

struct shadow_stack {
	struct shadow_frame *frames; /* outermost first */
	size_t n, n_allocated;
	bool is_leaving;      /* the stack pointer has left functions that have not returned */
	uint64_t n_unmatched; /* returns to an address that no call has left */
};

/* Where a thread is, and what it has captured of its stack. */
struct shadow_place {
	uint64_t pc, sp;
	const void *stack; /* from sp on */
	size_t stack_size;
};

void shadow_stack_deinit(struct shadow_stack *shadow);

/* One instruction was executed: 0 or -ENOMEM. */
int shadow_stack_step(struct shadow_stack *shadow, enum instruction instruction, uint64_t sp_before,
		      const struct shadow_place *now);

/*
 * Whether a signal's handler begins here that has interrupted the code at `pc` and `sp`; if so it
 * is added. 0, 1: it does, -ENOMEM.
 */
int shadow_stack_signal(struct shadow_stack *shadow, uint64_t pc, uint64_t sp,
			const struct shadow_place *now);

/* rt_sigreturn(2) was executed. */
void shadow_stack_sigreturn(struct shadow_stack *shadow, const struct shadow_place *now);

/*
 * The chain as a line of text, as frame-dump has it: innermost first, without mappings. '|' is in
 * front of the first frame whose place was not captured. "leaving" follows where functions are
 * being left by another way than a return, as by longjmp() or an exception: what the chain is
 * then is a matter of words.
 */
void shadow_stack_print(const struct shadow_stack *shadow, const struct shadow_place *now,
			FILE *out);
