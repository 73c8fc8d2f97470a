/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "common/script/memory-pieces.h"
#include "common/script/script-place.h"
#include "live-unwinder/script/php-walk.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	/* Zend/zend_compile.h: types of functions, the first byte of each; */
	INTERNAL_FUNCTION = 1,
	USER_FUNCTION = 2,
	FIBER = 3, /* of ours: it stands for what has resumed a fiber (zend_fiber_function) */
	EVAL_CODE = 4,
	/* and what a call is: whether C has called it (ZEND_CALL_TOP), or resumed it. */
	CALLED_BY_C = 1 << 17,
	GENERATOR = 1 << 24,
};

struct php_walk {
	const struct php_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view calls;
	struct script_stack *stack;
	uint64_t anchor; /* the innermost call of the script in this segment; 0: none yet */
	uint32_t n_in_segment;
	bool needs_script; /* the next call is that of a function of the script */
};

/* What begins a fiber is internal, and has no name. */
static bool begins_fiber(const struct php_fields *fields, const struct wire_memory *record)
{
	uint64_t name, class;

	return memory_field(&record->bytes, fields->function_name, &name, sizeof(name)) &&
	       memory_field(&record->bytes, fields->function_class, &class, sizeof(class)) &&
	       !name && !class;
}

uint64_t php_function_kind(const struct php_fields *fields, const struct wire_memory *record)
{
	uint8_t type;

	if (!memory_field(&record->bytes, 0, &type, sizeof(type)))
		return 0;
	if (type == EVAL_CODE)
		return USER_FUNCTION;
	if (type == INTERNAL_FUNCTION && begins_fiber(fields, record))
		return FIBER;
	return type == INTERNAL_FUNCTION || type == USER_FUNCTION ? type : 0;
}

static bool fits(const struct php_walk *walk)
{
	const struct php_fields *fields = walk->fields;

	return walk_view_has(&walk->calls, fields->frame_function, sizeof(uint64_t)) &&
	       walk_view_has(&walk->calls, fields->frame_previous, sizeof(uint64_t)) &&
	       walk_view_has(&walk->calls, fields->frame_info, sizeof(uint64_t)) &&
	       walk_view_has(&walk->calls, fields->frame_line, sizeof(uint64_t));
}

/*
 * As a function is left, its activation holds its call, which is no longer in the list, and may run
 * destructors; but what has called the activation holds the call that it began with.
 */
static void end_segment(struct php_walk *walk, uint64_t entry, uint32_t info)
{
	struct script_stack *stack = walk->stack;

	stack->segments[stack->n_segments++] =
		(struct script_segment){ .anchor = walk->anchor,
					 .entry = entry,
					 .n = walk->n_in_segment,
					 .is_generator = info & GENERATOR };
	walk->anchor = walk->n_in_segment = 0;
}

/* Where a call of the script's code is; 0: nobody knows. */
static uint32_t line_of(const struct php_walk *walk, const char *window)
{
	uint32_t line = walk_view_word(window, walk->fields->frame_line);

	return line < SCRIPT_INSTRUCTIONS_MAX ? line : 0;
}

/* A function that the script's code calls is followed by that; what C calls, by anything. */
static enum script_outcome take_function(struct php_walk *walk, const struct walk_element *element,
					 const char *window, const struct script_code_view *code)
{
	uint32_t info = walk_view_word(window, walk->fields->frame_info);
	bool is_script = code->trait == USER_FUNCTION, is_top = info & CALLED_BY_C;

	if (walk->needs_script && !is_script)
		return SCRIPT_TORN;
	walk->needs_script = !is_top;
	walk->stack->places[walk->stack->n++] =
		script_place(code->number, is_script ? line_of(walk, window) : 0);
	walk->n_in_segment++;
	if (is_script && !walk->anchor)
		walk->anchor = element->address;
	if (is_script && is_top)
		end_segment(walk, element->address, info);
	return SCRIPT_WHOLE;
}

/* A fiber has a C stack of its own: what has resumed it is not there. */
static enum script_outcome end_fiber(struct php_walk *walk)
{
	walk->calls.n = 0;
	return SCRIPT_WHOLE;
}

/* What a call executes. SCRIPT_WHOLE, or why it is not known. */
static enum script_outcome find_function(const struct php_walk *walk,
					 const struct walk_element *element, const char *window,
					 struct script_code_view *ret)
{
	uint64_t function = walk_view_word(window, walk->fields->frame_function);

	*ret = (struct script_code_view){ 0 };
	switch (code_table_find(walk->codes, walk->process, function, element->identity, ret)) {
	case CODE_IS_KNOWN:
		return SCRIPT_WHOLE;
	case CODE_IS_UNKNOWN:
		return element->identity ? SCRIPT_UNKNOWN : SCRIPT_TORN;
	default:
		return SCRIPT_TORN;
	}
}

/*
 * Generators that delegate to the one before, from the outermost on: they are its callers, and
 * executed in its activation, but the list has not them, only a call without a function. Those that
 * were read from there on end with what that has for its caller.
 */
static enum script_outcome take_delegating(struct php_walk *walk, size_t i, size_t *ret_n)
{
	struct script_stack *stack = walk->stack;
	struct walk_element element;
	const char *window = walk_view_element(&walk->calls, i, &element);
	uint64_t end = walk_view_word(window, walk->fields->frame_previous);
	size_t n = 0;

	if (walk->n_in_segment || walk->needs_script || !stack->n_segments ||
	    !stack->segments[stack->n_segments - 1].is_generator)
		return SCRIPT_TORN;
	for (; i + 1 + n < walk->calls.n; n++) {
		struct script_code_view code;
		enum script_outcome outcome;

		window = walk_view_element(&walk->calls, i + 1 + n, &element);
		if (element.address == end)
			break;
		outcome = find_function(walk, &element, window, &code);
		if (outcome != SCRIPT_WHOLE)
			return outcome;
		if (code.trait != USER_FUNCTION ||
		    !(walk_view_word(window, walk->fields->frame_info) & GENERATOR))
			return SCRIPT_TORN;
		memmove(stack->places + stack->n - n + 1, stack->places + stack->n - n,
			n * sizeof(*stack->places));
		stack->places[stack->n++ - n] = script_place(code.number, line_of(walk, window));
	}
	stack->segments[stack->n_segments - 1].n += n;
	*ret_n = n;
	return n ? SCRIPT_WHOLE : SCRIPT_TORN;
}

/* Takes the i-th call, and the last of those that belong to it is `ret_last`. */
static enum script_outcome take_call(struct php_walk *walk, size_t i, size_t *ret_last)
{
	struct walk_element element;
	const char *window = walk_view_element(&walk->calls, i, &element);
	struct script_code_view code;
	enum script_outcome outcome;
	size_t n = 0;

	*ret_last = i;
	if (!walk_view_word(window, walk->fields->frame_function)) {
		outcome = take_delegating(walk, i, &n);
		*ret_last += n;
		return outcome;
	}
	outcome = find_function(walk, &element, window, &code);
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	return code.trait == FIBER ? end_fiber(walk) : take_function(walk, &element, window, &code);
}

static enum script_outcome read_calls(struct php_walk *walk)
{
	struct script_stack *stack = walk->stack;

	if (walk->calls.n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	/* Which activation is whose is known from the outermost one on. */
	if (walk->calls.end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	for (size_t i = 0; i < walk->calls.n; i++) {
		enum script_outcome outcome = take_call(walk, i, &i);

		if (outcome != SCRIPT_WHOLE)
			return outcome;
	}
	if (walk->anchor || walk->needs_script)
		return SCRIPT_TORN;
	/* C has called the last ones, outside of any script: they are C functions in the stack. */
	stack->n -= walk->n_in_segment;
	return stack->n_segments ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}

static enum script_outcome read_walk(struct php_walk *walk, const struct wire_sample *sample)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(sample, lists);

	walk->calls = lists[0];
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	return fits(walk) ? read_calls(walk) : SCRIPT_DAMAGED;
}

enum script_outcome php_walk_read(const struct php_fields *fields, const struct code_table *codes,
				  const struct wire_sample *sample, struct script_stack *ret)
{
	struct php_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_HELD);
	ret->resume_from = fields->resume_from;
	ret->resume_to = fields->resume_to;
	return script_stack_end(ret, read_walk(&walk, sample));
}
