/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The stack of a call, by the tables that the reader has published. Nothing is guessed: what a rule
 * cannot say, or a place that is not known to be readable, makes the stack RAW, and live-unwinder
 * looks at it.
 *
 * The last stack of the thread is kept with all that it was read from. The next one is walked only
 * until it comes to a frame of it (same address, stack pointer and frame pointer): from there on it
 * is the same if each place holds what it held, as the same rules would read the same places.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload-source/injected/stack-view.h"

enum {
	WALK_RULES_CACHED = 8192, /* a power of two */
	WALK_DEPTH_MAX = 512,
};

/* A frame as it is entered from inside. */
struct walk_frame {
	uint64_t pc; /* a return address */
	uint64_t sp, fp;
};

/* A frame of the last stack, and what its caller was found by: places and what they held. */
struct walk_link {
	struct walk_frame frame;
	uint64_t pc_at, fp_at; /* fp_at 0: it was not read */
	uint64_t cfa_at, cfa;  /* 0: the same */
	uint64_t hash;	       /* of this and all outer frames */
};

struct walk_rule {
	uint64_t pc;
	int32_t cfa_offset;
	int16_t fp_offset;
	uint8_t kind, fp;
};

struct walker {
	struct walk_rule rules[WALK_RULES_CACHED];
	struct walk_link links[WALK_DEPTH_MAX]; /* outermost first */
	struct walk_link fresh[WALK_DEPTH_MAX]; /* innermost first: those of the current walk */
	uint32_t n_links;
	bool is_volatile; /* they cannot be used again */
	uint32_t end;	  /* enum heap_stack_end, of the last stack */
	struct stack_view stack;
};

enum walk_outcome {
	WALK_DONE, /* it is in `links` */
	WALK_RAW,
};

enum walk_outcome walk(struct walker *walker, const struct stack_own *own, struct walk_frame frame);

/* Forgets all rules and stacks: code has gone. */
void walk_forget(struct walker *walker);
