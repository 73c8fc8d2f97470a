/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How code of LuaJIT's interpreter and its traces is left. All functions of Lua between two of C
 * are executed in one frame, whose place the thread has noted (L->cframe), and the frame has that
 * of the next outer one. Traces, and what the interpreter calls, push a little more for themselves,
 * of which the file's unwind information knows nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/script-stack.h"
#include "live-unwinder/walk/walk-view.h"

struct luajit_calls {
	const struct wire_blob *stack;
	uint64_t stack_start;
	uint64_t code_from, code_to; /* of the interpreter */
	uint64_t cframe;	     /* the next frame to be left; 0: none is known */
	uint64_t cframe_size;	     /* 0: the process has no LuaJIT */
	uint64_t left;		     /* where code that leaves a trace goes on */
	bool is_in_trace;	     /* that may be one that a trace is executed in */
};

/* What a thread is, as its sample's walk has it. */
struct luajit_thread {
	uint64_t address;  /* its lua_State; 0: there is none */
	uint64_t stack;	   /* where its own stack begins, */
	uint64_t cframe;   /* and its innermost frame in C is; 0: none */
	uint64_t jit_base; /* where a running trace began; 0: none runs */
};

/* A frame in C, as far as the stack was captured. */
struct luajit_cframe {
	uint64_t thread;   /* its lua_State */
	uint64_t pc;	   /* what the interpreter has noted before it called C */
	uint64_t previous; /* the next outer one of this thread; 0: there is none */
	/* Negative: C executes it, and what that calls begins so many bytes up in the thread's
	 * stack. */
	int32_t n_results;
};

/* False: the walk does not have it. */
bool luajit_thread_read(const struct luajit_fields *fields,
			const struct walk_list_view lists[WALK_LISTS_MAX],
			struct luajit_thread *ret);

/* Reads the frame at an address. False: it was not captured. */
bool luajit_cframe_read(const struct wire_sample *sample, uint64_t sp, uint64_t at,
			struct luajit_cframe *ret);

/* Of a sample whose stack begins at `sp`. */
struct luajit_calls luajit_calls_of(const struct luajit_fields *fields,
				    const struct script_loop *loop,
				    const struct wire_sample *sample, uint64_t sp);

static inline bool luajit_calls_have(const struct luajit_calls *calls, uint64_t code)
{
	return calls->cframe && code - calls->code_from < calls->code_to - calls->code_from;
}

/* As made_calls_find(). */
bool luajit_calls_find(struct luajit_calls *calls, const struct made_caller *frame,
		       struct made_caller *ret);
