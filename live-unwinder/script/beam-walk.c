/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/script/beam-code.h"
#include "live-unwinder/script/beam-walk.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	WORD = 8,
	TERM_TAG = 3, /* erl_term.h: of addresses to which functions return all bits are 0 */
	CODE_MAX = 5 * WALK_CODE_WINDOW,
	LINE_MASK = (1 << 24) - 1,
};

struct beam_walk {
	const struct beam_fields *fields;
	const struct code_table *codes;
	const struct script_thread *thread;
	struct script_stack *stack;
	struct walk_list_view returns;
	struct walk_bounds bounds;
	uint8_t code[CODE_MAX];
	size_t n_code;
	uint64_t code_address;
};

/* The code goes on from window to window. */
static void read_code(struct beam_walk *walk, const struct walk_list_view *list)
{
	struct walk_element element;

	for (size_t i = 0; i < list->n && walk->n_code < CODE_MAX; i++) {
		const char *window = walk_view_element(list, i, &element);

		if (!i)
			walk->code_address = element.address;
		else if (element.address != walk->code_address + walk->n_code)
			return;
		memcpy(walk->code + walk->n_code, window, WALK_CODE_WINDOW);
		walk->n_code += WALK_CODE_WINDOW;
	}
}

static enum script_outcome open_walk(struct beam_walk *walk)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(walk->thread->sample, lists);
	struct walk_element owner;

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (lists[0].window != sizeof(struct walk_return))
		return SCRIPT_DAMAGED;
	if (lists[1].n != 1 || lists[1].window != sizeof(walk->bounds) ||
	    lists[2].window != WALK_CODE_WINDOW)
		return SCRIPT_ABSENT;
	walk->returns = lists[0];
	memcpy(&walk->bounds, walk_view_element(&lists[1], 0, &owner), sizeof(walk->bounds));
	read_code(walk, &lists[2]);
	return SCRIPT_WHOLE;
}

/* Finds where the stack of the process begins, and the return address of what it executes. */
static bool find_begin(const struct beam_walk *walk, uint64_t pc, uint64_t *ret_sp, uint64_t *ret)
{
	const struct beam_code code = {
		.bytes = walk->code,
		.n = walk->n_code,
		.address = walk->code_address,
		.at = pc - walk->code_address,
		.from = walk->bounds.code_from,
		.to = walk->bounds.code_to,
		.head = walk->fields->function_size,
		.top = walk->fields->process_top,
	};
	uint64_t sp = walk->thread->sp;
	const struct beam_stack stack = {
		.is_own = sp >= walk->bounds.low && sp < walk->bounds.high,
		.sp = sp,
		.noted = walk->bounds.top,
		.saved = walk->thread->last.fp,
	};

	return beam_code_find_return(&code, &stack, ret_sp, ret) && *ret_sp >= walk->bounds.low &&
	       *ret >= *ret_sp && *ret < walk->bounds.high;
}

/* Adds a function to the stack. */
static enum script_outcome add_function(struct beam_walk *walk, const struct walk_element *element,
					const struct walk_return *window)
{
	struct script_code_view view = { 0 };

	if (!element->identity || walk->stack->n == SCRIPT_FRAMES_MAX)
		return SCRIPT_TORN;
	if (code_table_find(walk->codes, walk->thread->sample->process, window->object,
			    element->identity, &view) != CODE_IS_KNOWN)
		return SCRIPT_UNKNOWN;
	walk->stack->places[walk->stack->n++] = script_place(view.number, window->line & LINE_MASK);
	return SCRIPT_WHOLE;
}

/* Whether a word of the stack is a return address. Those of code shared by functions have any bits.
 */
static bool may_return_to(const struct walk_return *window, const struct walk_element *element,
			  uint64_t at)
{
	return window->object && (element->address == at || !(window->pc & TERM_TAG));
}

/*
 * Adds the functions to which the process returns. The first return address on the stack must be
 * that of the code: an older one may lie in a frame that is being made.
 */
static enum script_outcome add_callers(struct beam_walk *walk, uint64_t sp, uint64_t at)
{
	uint64_t end = walk->bounds.high - WORD;
	enum script_outcome outcome = SCRIPT_WHOLE;
	struct walk_element element = { 0 };
	struct walk_return window = { 0 };
	size_t i = 1;

	while (i < walk->returns.n &&
	       (window = walk_view_return(&walk->returns, i, &element),
		element.address < sp || !may_return_to(&window, &element, at)))
		i++;
	if (i == walk->returns.n || element.address != at)
		return SCRIPT_TORN;
	for (; i < walk->returns.n && outcome == SCRIPT_WHOLE; i++) {
		window = walk_view_return(&walk->returns, i, &element);
		if (element.address == end)
			return window.pc == (uint64_t)walk->fields->stack_end ? SCRIPT_WHOLE
									      : SCRIPT_TORN;
		if (element.address == at || !(window.pc & TERM_TAG))
			outcome = add_function(walk, &element, &window);
	}
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	return walk->returns.end == WIRE_walk_end_LIMIT ? SCRIPT_LIMIT : SCRIPT_TORN;
}

/* Of a process that a scheduler executes. */
static enum script_outcome read_executed(struct beam_walk *walk,
					 const struct walk_element *innermost,
					 const struct walk_return *executed)
{
	enum script_outcome outcome = SCRIPT_WHOLE;
	uint64_t sp, at;

	if (walk->thread->last.pc != executed->pc || walk->thread->last.sp != innermost->address)
		return SCRIPT_CUT;
	if (!find_begin(walk, executed->pc, &sp, &at))
		return SCRIPT_TORN;
	if (executed->object)
		outcome = add_function(walk, innermost, executed);
	if (outcome == SCRIPT_WHOLE)
		outcome = add_callers(walk, sp, at);
	return outcome;
}

static enum script_outcome read_walk(struct beam_walk *walk)
{
	enum script_outcome outcome = open_walk(walk);
	struct walk_element innermost;
	struct walk_return executed;

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	executed = walk_view_return(&walk->returns, 0, &innermost);
	if (executed.pc) {
		outcome = read_executed(walk, &innermost, &executed);
	} else { /* a thread executes a function of C for it, which the first one has called */
		walk->stack->anchoring = SCRIPT_ANCHOR_LOOP;
		outcome = add_callers(walk, walk->bounds.top, walk->bounds.top);
	}
	if (outcome != SCRIPT_WHOLE && outcome != SCRIPT_LIMIT)
		return outcome;
	if (!walk->stack->n)
		return SCRIPT_NO_FRAMES;
	walk->stack->segments[walk->stack->n_segments++] = (struct script_segment){
		.anchor = innermost.address,
		.instruction = executed.pc,
		.n = walk->stack->n,
	};
	walk->stack->own_end =
		outcome == SCRIPT_WHOLE ? WIRE_stack_end_COMPLETE : WIRE_stack_end_FRAME_LIMIT;
	return outcome;
}

enum script_outcome beam_walk_read(const struct beam_fields *fields, const struct code_table *codes,
				   const struct script_thread *thread, struct script_stack *ret)
{
	struct beam_walk walk = {
		.fields = fields,
		.codes = codes,
		.thread = thread,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_STACK);
	return script_stack_end(ret, read_walk(&walk));
}
