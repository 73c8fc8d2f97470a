/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>

#include "common/script/perl-pieces.h"
#include "common/script/script-place.h"
#include "live-unwinder/script/perl-walk.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	/* cop.h: types of contexts, and what is known of them. */
	TYPES = 0xf,
	OF_NOTHING = 0, /* a block of sort's, which is executed again and again */
	OF_SUB = 9,
	OF_FORMAT = 10,
	OF_EVAL = 11,
	OF_LATER = 13,		/* `defer {}`, or `finally {}` */
	AGAIN_AND_AGAIN = 0x10, /* of a sub: C executes it so */
	OF_PATTERN = 0x80,	/* of a sub: code in a pattern, which is part of another sub */
	BLOCK = 0x40 | 0x80,	/* of an eval: a block, which is part of the code around it */
	SORTING = 3,		/* a type of stacks */
	/* Traits. */
	IS_SUB = 1,
	IS_POSITION = 2, /* or more than that: its line */
};

/* Where code is. */
struct perl_position {
	uint64_t address, identity;
};

struct perl_walk {
	const struct perl_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view contexts, current;
	struct script_stack *stack;
	struct script_segment segment; /* the current one */
	struct perl_position position; /* of the next frame */
	bool has_context;	       /* of any kind */
	bool is_call_last;	       /* the last segment ends with a call, and not with a block */
};

uint64_t perl_object_of(const struct perl_fields *fields, const struct wire_memory *record)
{
	struct memory_pieces pieces;
	struct wire_blob body;
	uint32_t line;

	if (perl_begin_sub(fields, record, &pieces, &body))
		return IS_SUB;
	if (!memory_field(&record->bytes, fields->cop_line, &line, sizeof(line)))
		return 0;
	return line <= CODE_TRAIT_MAX - IS_POSITION ? IS_POSITION + line : IS_POSITION;
}

static bool fits(const struct perl_walk *walk)
{
	const struct perl_fields *fields = walk->fields;
	const struct walk_list_view *contexts = &walk->contexts;

	return walk_view_has(contexts, fields->stack_array, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->stack_previous, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->stack_last, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->stack_type, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->context_cop, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->context_return, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->context_sub, sizeof(uint64_t)) &&
	       walk_view_has(contexts, fields->context_position, sizeof(uint64_t)) &&
	       walk_view_has(&walk->current, fields->context_cop, sizeof(uint64_t));
}

static void end_segment(struct perl_walk *walk)
{
	walk->stack->segments[walk->stack->n_segments++] = walk->segment;
	walk->segment = (struct script_segment){ .anchor = walk->segment.anchor };
}

/*
 * A block that C executes, which has so many frames of its own. What its last operation calls has
 * nothing to return to, either: nobody knows yet whether the segment before is C's, or part of this
 * one.
 */
static void end_block(struct perl_walk *walk, uint32_t n_own)
{
	struct script_stack *stack = walk->stack;

	if (walk->segment.n == n_own && walk->is_call_last)
		stack->segments[stack->n_segments - 1].may_be_part = true;
	walk->is_call_last = false;
	end_segment(walk);
}

/* A sub or an eval that has nothing to return to. */
static void end_call(struct perl_walk *walk)
{
	walk->is_call_last = true;
	end_segment(walk);
}

static enum script_outcome find(const struct perl_walk *walk, uint64_t address, uint64_t identity,
				struct script_code_view *ret)
{
	switch (code_table_find(walk->codes, walk->process, address, identity, ret)) {
	case CODE_IS_KNOWN:
		return SCRIPT_WHOLE;
	case CODE_IS_UNKNOWN:
		return identity ? SCRIPT_UNKNOWN : SCRIPT_TORN;
	default:
		return SCRIPT_TORN;
	}
}

static void put_frame(struct perl_walk *walk, uint64_t number, uint64_t line)
{
	walk->stack->places[walk->stack->n++] = script_place(number, line);
	walk->segment.n++;
}

/* The line of the current position; 0: not known. */
static uint64_t line_of(const struct perl_walk *walk)
{
	struct script_code_view position = { 0 };

	if (find(walk, walk->position.address, walk->position.identity, &position) ||
	    position.trait < IS_POSITION)
		return 0;
	return position.trait - IS_POSITION;
}

/* Code outside of subs is known only by its position. */
static enum script_outcome take_file(struct perl_walk *walk)
{
	struct script_code_view position = { 0 };
	enum script_outcome outcome =
		find(walk, walk->position.address, walk->position.identity, &position);

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (position.trait < IS_POSITION)
		return SCRIPT_TORN;
	put_frame(walk, position.number, position.trait - IS_POSITION);
	return SCRIPT_WHOLE;
}

/* What has called a context is where that says. */
static void go_out(struct perl_walk *walk, const char *window)
{
	walk->position.address = walk_view_word(window, walk->fields->context_cop);
	walk->position.identity = walk_view_word(window, walk->fields->context_position);
}

/*
 * As a sub is entered, its context has none yet; as it is left, none any more. Up to its first
 * statement the interpreter is still where it was called.
 */
static enum script_outcome take_sub(struct perl_walk *walk, const struct walk_element *element,
				    const char *window, uint8_t type)
{
	const struct perl_fields *fields = walk->fields;
	uint64_t sub = walk_view_word(window, fields->context_sub),
		 caller = walk_view_word(window, fields->context_cop);
	bool is_innermost = !walk->stack->n && !walk->has_context, is_unstarted;
	struct script_code_view code = { 0 };
	enum script_outcome outcome;

	if (!sub)
		return is_innermost ? SCRIPT_WHOLE : SCRIPT_TORN;
	is_unstarted =
		!walk->stack->n && !walk->stack->n_segments && caller == walk->position.address;
	if (!(type & OF_PATTERN)) {
		outcome = find(walk, sub, element->identity, &code);
		if (outcome != SCRIPT_WHOLE)
			return outcome;
		if (code.trait != IS_SUB)
			return SCRIPT_TORN;
		put_frame(walk, code.number, is_unstarted ? 0 : line_of(walk));
	}
	walk->segment.may_be_idle |= is_unstarted || type & AGAIN_AND_AGAIN;
	if (type & AGAIN_AND_AGAIN)
		end_block(walk, !(type & OF_PATTERN));
	else if (!walk_view_word(window, fields->context_return))
		end_call(walk);
	go_out(walk, window);
	return SCRIPT_WHOLE;
}

/* Of a text, or of a file that is required. */
static enum script_outcome take_eval(struct perl_walk *walk, const char *window, uint8_t type)
{
	enum script_outcome outcome;

	if (type & BLOCK)
		return SCRIPT_WHOLE;
	outcome = take_file(walk);
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!walk_view_word(window, walk->fields->context_return))
		end_call(walk);
	go_out(walk, window);
	return SCRIPT_WHOLE;
}

/* `is_sorted`: it is the outermost one of a stack that sorts. */
static enum script_outcome take_context(struct perl_walk *walk, const struct walk_element *element,
					const char *window, bool is_sorted)
{
	uint8_t type = *window;
	enum script_outcome outcome = SCRIPT_WHOLE;

	switch (type & TYPES) {
	case OF_SUB:
		outcome = take_sub(walk, element, window, type);
		break;
	case OF_EVAL:
		outcome = take_eval(walk, window, type);
		break;
	case OF_FORMAT:
		return SCRIPT_UNKNOWN;
	case OF_NOTHING:
		if (!is_sorted)
			break;
		walk->segment.may_be_idle |= !walk->segment.n;
		end_block(walk, 0);
		break;
	case OF_LATER:
		end_block(walk, 0);
		break;
	default:
		break;
	}
	walk->has_context = true;
	return outcome;
}

/* Takes a stack, whose head is the i-th element. Returns how many it has; 0: it is no stack. */
static size_t take_stack(struct perl_walk *walk, size_t i, uint64_t *ret_previous,
			 enum script_outcome *ret)
{
	const struct perl_fields *fields = walk->fields;
	struct walk_element element;
	const char *head = walk_view_element(&walk->contexts, i, &element), *window;
	uint64_t array = walk_view_word(head, fields->stack_array);
	int32_t last = walk_view_word(head, fields->stack_last);
	int32_t type = walk_view_word(head, fields->stack_type);

	*ret_previous = walk_view_word(head, fields->stack_previous);
	if (last < -1 || (size_t)(last + 1) > walk->contexts.n - i - 1)
		return 0;
	for (int32_t at = last; at >= 0 && *ret == SCRIPT_WHOLE; at--) {
		window = walk_view_element(&walk->contexts, i + 1 + last - at, &element);
		if (element.address != array + at * (uint64_t)fields->context_size)
			return 0;
		*ret = take_context(walk, &element, window, at == 0 && type == SORTING);
	}
	return last + 2;
}

static enum script_outcome read_stacks(struct perl_walk *walk)
{
	enum script_outcome outcome = SCRIPT_WHOLE;
	uint64_t previous = 0;
	size_t n;

	if (walk->contexts.n >= SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	/* Which activation is whose is known from the outermost one on. */
	if (walk->contexts.end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	for (size_t i = 0; i < walk->contexts.n; i += n) {
		struct walk_element element;

		walk_view_element(&walk->contexts, i, &element);
		if (i && element.address != previous)
			return SCRIPT_TORN;
		n = take_stack(walk, i, &previous, &outcome);
		if (!n)
			return SCRIPT_TORN;
		if (outcome != SCRIPT_WHOLE)
			return outcome;
	}
	if (previous)
		return SCRIPT_TORN;
	outcome = take_file(walk);
	end_segment(walk);
	return outcome;
}

static enum script_outcome read_walk(struct perl_walk *walk, const struct wire_sample *sample)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(sample, lists);
	struct walk_element current;
	const char *window;

	walk->contexts = lists[0];
	walk->current = lists[1];
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!walk->current.n)
		return SCRIPT_NO_FRAMES;
	if (!fits(walk))
		return SCRIPT_DAMAGED;
	window = walk_view_element(&walk->current, 0, &current);
	walk->position.address = walk_view_word(window, walk->fields->context_cop);
	walk->position.identity = current.identity;
	if (walk->fields->interpreter_cop >= 0)
		walk->segment.anchor =
			current.address + walk->fields->context_cop - walk->fields->interpreter_cop;
	return read_stacks(walk);
}

enum script_outcome perl_walk_read(const struct perl_fields *fields, const struct code_table *codes,
				   const struct wire_sample *sample, struct script_stack *ret)
{
	struct perl_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_COUNTED);
	ret->more_from = fields->catch_from;
	ret->more_to = fields->catch_to;
	ret->main_from = fields->main_from;
	ret->main_to = fields->main_to;
	return script_stack_end(ret, read_walk(&walk, sample));
}
