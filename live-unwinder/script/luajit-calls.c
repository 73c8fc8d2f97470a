/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/luajit-frames.h"
#include "live-unwinder/script/luajit-calls.h"
#include "live-unwinder/walk/stack-word.h"

enum {
	WORD = 8,
	CFRAME_FLAGS = 3, /* bits of a frame's address */
	/* From the frame's end on: the return address, and the caller's frame pointer. */
	RETURN_ADDRESS = WORD,
	SAVED_FP = 2 * WORD,
	/* What a trace has for itself: registers, what it has no register for (spadjust), and what
	 * code that leaves it keeps. */
	TRACE_MAX = 1 << 16,
	/* What the interpreter has: it has called a part of itself, or enters or leaves a trace. */
	CALLED = WORD,
	SAVED_FOR_TRACE = 2 * WORD,
};

bool luajit_thread_read(const struct luajit_fields *fields,
			const struct walk_list_view lists[WALK_LISTS_MAX],
			struct luajit_thread *ret)
{
	struct walk_element thread, shared;
	const char *window;

	*ret = (struct luajit_thread){ 0 };
	if (!lists[1].n || !lists[2].n ||
	    !walk_view_has(&lists[1], fields->thread_stack, sizeof(uint64_t)) ||
	    !walk_view_has(&lists[1], fields->thread_cframe, sizeof(uint64_t)) ||
	    !walk_view_has(&lists[2], fields->global_jit_base, sizeof(uint64_t)))
		return false;
	window = walk_view_element(&lists[1], 0, &thread);
	ret->address = thread.address;
	ret->stack = walk_view_word(window, fields->thread_stack);
	ret->cframe = walk_view_word(window, fields->thread_cframe) & ~(uint64_t)CFRAME_FLAGS;
	ret->jit_base =
		walk_view_word(walk_view_element(&lists[2], 0, &shared), fields->global_jit_base);
	return true;
}

bool luajit_cframe_read(const struct wire_sample *sample, uint64_t sp, uint64_t at,
			struct luajit_cframe *ret)
{
	uint64_t results;

	if (!stack_read_word(&sample->stack, sp, at + LUAJIT_CFRAME_THREAD, &ret->thread) ||
	    !stack_read_word(&sample->stack, sp, at + LUAJIT_CFRAME_PC, &ret->pc) ||
	    !stack_read_word(&sample->stack, sp, at + LUAJIT_CFRAME_PREVIOUS, &ret->previous) ||
	    !stack_read_word(&sample->stack, sp, at + LUAJIT_CFRAME_RESULTS, &results))
		return false;
	ret->previous &= ~(uint64_t)CFRAME_FLAGS;
	ret->n_results = (uint32_t)results;
	return true;
}

struct luajit_calls luajit_calls_of(const struct luajit_fields *fields,
				    const struct script_loop *loop,
				    const struct wire_sample *sample, uint64_t sp)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	struct luajit_thread thread = { 0 };

	if (walk_view_read(sample, lists) == SCRIPT_WHOLE)
		luajit_thread_read(fields, lists, &thread);
	return (struct luajit_calls){
		.stack = &sample->stack,
		.stack_start = sp,
		.code_from = loop->from,
		.code_to = loop->to,
		.cframe = thread.cframe,
		.cframe_size = fields->cframe_size,
		.left = fields->left,
		.is_in_trace = thread.jit_base,
	};
}

/* Whether a frame that executes such code lies in that C frame: none of C is between the two. */
static bool is_within(const struct luajit_calls *calls, const struct made_caller *frame)
{
	uint64_t more = calls->cframe - frame->sp;

	if (luajit_calls_have(calls, frame->pc) &&
	    (more == 0 || more == CALLED || more == SAVED_FOR_TRACE))
		return true;
	return (calls->is_in_trace || frame->pc == calls->left) && more >= SAVED_FOR_TRACE &&
	       more <= TRACE_MAX;
}

/*
 * A thread's outermost frame was called by the interpreter, in the frame of the thread that has
 * resumed this one, or by C.
 */
static uint64_t find_next(const struct luajit_calls *calls, uint64_t previous, uint64_t pc,
			  uint64_t sp)
{
	if (previous)
		return previous >= sp ? previous : 0;
	return luajit_calls_have(calls, pc) ? sp : 0;
}

bool luajit_calls_find(struct luajit_calls *calls, const struct made_caller *frame,
		       struct made_caller *ret)
{
	uint64_t end = calls->cframe + calls->cframe_size, previous;

	if (!calls->cframe || !is_within(calls, frame) ||
	    !stack_read_word(calls->stack, calls->stack_start, end - RETURN_ADDRESS, &ret->pc) ||
	    !stack_read_word(calls->stack, calls->stack_start, end - SAVED_FP, &ret->fp) ||
	    !stack_read_word(calls->stack, calls->stack_start,
			     calls->cframe + LUAJIT_CFRAME_PREVIOUS, &previous))
		return false;
	ret->sp = end;
	calls->cframe = find_next(calls, previous & ~(uint64_t)CFRAME_FLAGS, ret->pc, end);
	calls->is_in_trace = false;
	return ret->pc;
}
