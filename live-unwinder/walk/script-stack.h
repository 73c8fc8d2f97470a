/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a thread's interpreter executes: segments of frames, each run by one activation in C. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arch/arch.h"
#include "common/script/script-place.h"
#include "common/wire/wire.h"

enum { SCRIPT_FRAMES_MAX = 1024 };

/* A frame: what it executes, its stack pointer, and the frame pointer; 0: not known. */
struct made_caller {
	uint64_t pc, sp, fp;
};

/* How a segment belongs to the C frame of its activation. */
enum script_anchoring {
	SCRIPT_ANCHOR_IN_FRAME, /* its anchor is an address within the frame */
	SCRIPT_ANCHOR_HELD,	/* its anchor is a value that the activation holds, */
	/* as all others do (0: nothing tells them from others), and it is the same in number */
	SCRIPT_ANCHOR_COUNTED,
	SCRIPT_ANCHOR_POINTER, /* its anchor is the frame's pointer, and its place is known, */
	SCRIPT_ANCHOR_STACK,   /* or the frame's stack pointer */
	/* Likewise, and those that have no such frame are none: of words that led into code. */
	SCRIPT_ANCHOR_RETURN,
	SCRIPT_ANCHOR_LOOP, /* one function has all of them, and what it executes is inside */
};

struct script_segment {
	uint64_t anchor;
	/* Of activations that hold: the address of its outermost frame, which what has called the
	 * activation may hold instead; 0: it does not. */
	uint64_t entry;
	/* What the innermost activation may hold instead, as a frame begins or ends; 0: nothing. */
	uint64_t others[2];
	uint32_t n;	   /* frames */
	bool is_unstarted; /* nothing of its innermost frame has been executed */
	/* Of those that are counted: the innermost may have no activation; and it may be part of
	 * the next one. */
	bool may_be_idle, may_be_part;
	bool is_generator; /* its activation is called by what resumes generators, or is not */
	/* Of frame pointers: what the frame executes, and whether that is code of a compiler. */
	bool is_compiled;
	uint64_t instruction; /* of stack pointers: 0: any */
	bool is_innermost;
	bool is_proved; /* its code and its frame prove it, whatever the stack looks like */
};

/* Innermost first. */
struct script_stack {
	enum script_language language;
	uint64_t image;			    /* the interpreter's */
	uint64_t places[SCRIPT_FRAMES_MAX]; /* script-place.h */
	size_t n;
	struct script_segment segments[SCRIPT_FRAMES_MAX];
	size_t n_segments;
	size_t n_unsure; /* innermost ones that may not be executed now: they have no activation */
	enum script_anchoring anchoring;
	/*
	 * Of activations that hold: up to so many bytes of each one's C frame, from its caller's
	 * on, have what the caller holds.
	 */
	uint64_t saved;
	/*
	 * Where an array of frames begins, which may lie in the thread's C stack: then activations
	 * that execute it are all below. 0: nowhere.
	 */
	uint64_t frames_from;
	int64_t resume_from, resume_to; /* addresses of what resumes generators; 0: all call any */
	/* Of activations that are counted: addresses of what calls one that executes more of a
	 * segment, and of what calls that of the last segment. */
	int64_t more_from, more_to, main_from, main_to;
	/* How the script's last function ends the stack, if nothing of C has called it; 0: it has.
	 */
	enum wire_stack_end own_end;
	bool loop_calls_made; /* for what it executes, itself or by another function */
};

/* A thread whose walk is read: its sample, the stack pointer, and the last frame of its stack. */
struct script_thread {
	const struct arch *arch;
	const struct wire_sample *sample;
	uint64_t sp;
	struct {
		uint64_t pc, sp, fp; /* `fp` 0: it is not known */
	} last;
	struct made_caller told; /* the first frame that was left as the walk tells; 0: none was */
};

enum script_outcome {
	SCRIPT_WHOLE,
	SCRIPT_LIMIT,	  /* as far as the limit of the walk allows; what is there is true */
	SCRIPT_PARTLY,	  /* some frames have no function; what is there is true */
	SCRIPT_NO_FRAMES, /* the thread executes nothing */
	SCRIPT_TORN,	  /* the lists were between two states */
	SCRIPT_UNKNOWN,	  /* the stream does not have all of the code */
	SCRIPT_ABSENT,	  /* not all was in memory */
	SCRIPT_BUDGET,	  /* reading had taken too much time */
	SCRIPT_DAMAGED,	  /* the record is no walk */
	/* Of script_merge(). */
	SCRIPT_UNPLACED, /* it does not fit the C frames */
	SCRIPT_CUT,	 /* C frames end before its last ones */
	SCRIPT_OUTCOMES_MAX,
};

/* Makes a stack empty, whose segments are to be of this kind. */
static inline void script_stack_begin(struct script_stack *stack, enum script_anchoring anchoring)
{
	stack->n = stack->n_segments = stack->n_unsure = 0;
	stack->anchoring = anchoring;
	stack->saved = UINT64_MAX;
	stack->frames_from = 0;
	stack->resume_from = stack->resume_to = 0;
	stack->more_from = stack->more_to = stack->main_from = stack->main_to = 0;
	stack->loop_calls_made = false;
	stack->own_end = 0;
}

/* Returns an outcome. What a reader has found before something was wrong is forgotten. */
static inline enum script_outcome script_stack_end(struct script_stack *stack,
						   enum script_outcome outcome)
{
	if (outcome > SCRIPT_PARTLY)
		stack->n = stack->n_segments = 0;
	return outcome;
}
