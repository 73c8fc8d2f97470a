/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Walks a call's stack by the tables that the reader has published. Nothing is guessed: if a rule
 * does not suffice, or memory may be unreadable, the stack is RAW, and live-unwinder unwinds it.
 *
 * The thread's last stack is kept with the words that it was read from. The next walk ends at a
 * frame of that stack (same address, stack pointer and frame pointer): from there on both are the
 * same if each word is unchanged, as the same rules would read the same words.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload-source/injected/stack-view.h"

enum {
	WALK_RULES_CACHED = 8192, /* a power of two */
	WALK_DEPTH_MAX = 512,
};

/* A frame's registers at the return of its callee. */
struct walk_frame {
	uint64_t pc; /* a return address */
	uint64_t sp, fp;
};

/* A frame of the last stack, and the words by which its caller was found. */
struct walk_link {
	struct walk_frame frame;
	uint64_t pc_at, fp_at; /* addresses; fp_at 0: not read */
	uint64_t cfa_at, cfa;  /* cfa: as read at cfa_at; 0: not from memory */
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
	bool is_volatile; /* `links` cannot be reused */
	uint32_t end;	  /* enum heap_stack_end, of the last stack */
	struct stack_view stack;
};

enum walk_outcome {
	WALK_DONE, /* the stack is in `links` */
	WALK_RAW,
};

enum walk_outcome walk(struct walker *walker, const struct stack_own *own, struct walk_frame frame);

/* Clears all rules and the last stack, as code was unmapped. */
void walk_forget(struct walker *walker);
