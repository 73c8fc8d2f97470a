/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/lua-walk.h"
#include "live-unwinder/walk/code-begin.h"
#include "live-unwinder/walk/walk-view.h"

enum { INSTRUCTION_BITS = 2 };

struct lua_walk {
	const struct lua_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct script_stack *stack;
	struct script_segment segment; /* the current one */
	bool has_call;		       /* of any kind, of the current coroutine */
};

uint64_t lua_code_begin(const struct lua_fields *fields, const struct wire_memory *record)
{
	return code_begin_trait(record, fields->proto_code, fields->proto_count, INSTRUCTION_BITS);
}

static bool fits(const struct lua_walk *walk, const struct walk_list_view *calls)
{
	const struct lua_fields *fields = walk->fields;

	return walk_view_has(calls, fields->call_proto, sizeof(uint64_t)) &&
	       walk_view_has(calls, fields->call_next, sizeof(uint64_t)) &&
	       walk_view_has(calls, fields->call_pc, sizeof(uint64_t)) &&
	       walk_view_has(calls, fields->call_status, sizeof(uint32_t));
}

static uint32_t status_of(const struct lua_walk *walk, const char *window)
{
	uint32_t status;

	memcpy(&status, window + walk->fields->call_status, sizeof(status));
	return status;
}

static void end_segment(struct lua_walk *walk)
{
	walk->stack->segments[walk->stack->n_segments++] = walk->segment;
	walk->segment = (struct script_segment){ 0 };
}

/*
 * The activation holds the innermost call of its segment; as that begins, the one that has called
 * it; as one has ended, that one, which is still behind it in the list.
 */
static void note_call(struct lua_walk *walk, uint64_t address, uint64_t next)
{
	struct script_segment *segment = &walk->segment;

	if (segment->n == 0) {
		segment->anchor = address;
		segment->others[1] = next;
	} else if (segment->n == 1) {
		segment->others[0] = address;
	}
	segment->n++;
}

/* Only calls tell where the caller is. */
static uint64_t distance_of(const struct lua_walk *walk, const char *window, uint64_t trait)
{
	uint64_t pc = walk_view_word(window, walk->fields->call_pc);

	if (!walk->has_call || !pc)
		return SCRIPT_INSTRUCTION_UNKNOWN;
	return code_begin_distance(trait, pc, INSTRUCTION_BITS);
}

static enum script_outcome take_call(struct lua_walk *walk, const struct walk_element *element,
				     const char *window)
{
	uint32_t status = status_of(walk, window);
	struct script_code_view code = { 0 };

	/* They are C functions of the stack; what C calls is fresh. */
	if (status >> walk->fields->call_c & 1) {
		walk->has_call = true;
		return walk->segment.n ? SCRIPT_TORN : SCRIPT_WHOLE;
	}
	switch (code_table_find(walk->codes, walk->process,
				walk_view_word(window, walk->fields->call_proto), element->identity,
				&code)) {
	case CODE_IS_KNOWN:
		break;
	case CODE_IS_UNKNOWN:
		return element->identity ? SCRIPT_UNKNOWN : SCRIPT_TORN;
	default:
		return SCRIPT_TORN;
	}
	walk->stack->places[walk->stack->n++] =
		script_place(code.number, distance_of(walk, window, code.trait));
	note_call(walk, element->address, walk_view_word(window, walk->fields->call_next));
	walk->has_call = true;
	if (status >> walk->fields->call_fresh & 1)
		end_segment(walk);
	return SCRIPT_WHOLE;
}

/* The outermost call of a coroutine is one of C. */
static enum script_outcome take_calls(struct lua_walk *walk, const struct walk_list_view *calls)
{
	walk->has_call = false;
	if (walk->stack->n + calls->n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	/* Which activation is whose is known from the outermost one on. */
	if (calls->end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	for (size_t i = 0; i < calls->n; i++) {
		struct walk_element element;
		const char *window = walk_view_element(calls, i, &element);
		enum script_outcome outcome = take_call(walk, &element, window);

		if (outcome != SCRIPT_WHOLE)
			return outcome;
	}
	return walk->segment.n ? SCRIPT_TORN : SCRIPT_WHOLE;
}

/* Of another coroutine that the stack keeps: it has resumed this one. */
static bool take_resumer(struct lua_walk *walk, const struct walk_list_view *calls)
{
	struct script_stack *stack = walk->stack;
	size_t n = stack->n, n_segments = stack->n_segments;

	if (calls->n && calls->end == WIRE_walk_end_END && fits(walk, calls) &&
	    take_calls(walk, calls) == SCRIPT_WHOLE)
		return true;
	stack->n = n;
	stack->n_segments = n_segments;
	return false;
}

static enum script_outcome read_walk(struct lua_walk *walk, const struct wire_sample *sample)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(sample, lists);
	size_t n;

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!fits(walk, &lists[0]))
		return SCRIPT_DAMAGED;
	outcome = take_calls(walk, &lists[0]);
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	n = walk->stack->n_segments;
	for (size_t i = 1; i < WALK_LISTS_MAX; i++)
		if (!take_resumer(walk, &lists[i]))
			break;
	/* As a coroutine begins or ends, or is asked, what executes is the one around it. */
	if (walk->stack->n_segments > n)
		walk->stack->n_unsure = n;
	if (!walk->stack->n_segments)
		return SCRIPT_NO_FRAMES;
	return SCRIPT_WHOLE;
}

enum script_outcome lua_walk_read(const struct lua_fields *fields, const struct code_table *codes,
				  const struct wire_sample *sample, struct script_stack *ret)
{
	struct lua_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_HELD);
	return script_stack_end(ret, read_walk(&walk, sample));
}
