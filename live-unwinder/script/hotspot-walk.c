/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/hotspot-pieces.h"
#include "live-unwinder/script/hotspot-code.h"
#include "live-unwinder/script/hotspot-walk.h"

enum {
	WINDOW = sizeof(struct walk_call) + 3 * sizeof(uint64_t),
};

enum hotspot_object hotspot_object_of(const struct hotspot_fields *fields,
				      const struct wire_memory *record)
{
	return hotspot_is_method(fields, record) ? HOTSPOT_OBJECT_METHOD : HOTSPOT_OBJECT_CODE;
}

static void read_call(const struct walk_list_view *list, size_t i, struct walk_call *ret)
{
	struct walk_element head;

	memcpy(ret, walk_view_element(list, i, &head), sizeof(*ret));
}

/* Whether what the frame before is of was called by C++, which some other frame has called. */
static bool is_behind_entry(const struct walk_list_view *list, size_t i)
{
	struct walk_call inner;

	if (!i)
		return true;
	read_call(list, i - 1, &inner);
	return inner.kind == WALK_CALL_ENTRY;
}

void hotspot_frame_read(const struct walk_list_view *list, size_t i, struct hotspot_frame *ret)
{
	const char *element = list->elements + i * (sizeof(struct walk_element) + list->window);
	struct walk_element head;
	uint64_t code[3];

	memcpy(&head, element, sizeof(head));
	memcpy(&ret->call, element + sizeof(head), sizeof(ret->call));
	memcpy(code, element + sizeof(head) + sizeof(ret->call), sizeof(code));
	ret->sp = head.address;
	ret->method_identity = head.identity;
	ret->pc = code[0];
	ret->code = code[1];
	ret->code_identity = code[2];
	ret->is_noted = ret->call.where == WALK_WHERE_CALL && is_behind_entry(list, i);
}

/* Whether the interpreter has a frame where it executes an instruction. */
static bool has_frame(const struct hotspot_fields *fields, uint64_t pc)
{
	for (size_t i = 0; i < HOTSPOT_RANGES_MAX; i++)
		if (fields->frame_from[i] >= 0 && pc >= (uint64_t)fields->frame_from[i] &&
		    pc < (uint64_t)fields->frame_to[i])
			return true;
	return false;
}

enum script_outcome hotspot_walk_open(const struct hotspot_fields *fields,
				      const struct wire_sample *sample, struct walk_list_view *ret)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read(sample, lists);
	struct hotspot_frame innermost;

	*ret = lists[0];
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (ret->window != WINDOW)
		return SCRIPT_DAMAGED;
	hotspot_frame_read(ret, 0, &innermost);
	if (innermost.call.kind == WALK_CALL_INTERPRETED &&
	    innermost.call.where != WALK_WHERE_CALL && !has_frame(fields, innermost.pc))
		return SCRIPT_TORN;
	return SCRIPT_WHOLE;
}

struct hotspot_walk {
	const struct hotspot_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct script_stack *stack;
};

static bool add_place(struct hotspot_walk *walk, uint64_t address, uint64_t identity,
		      uint64_t place)
{
	struct script_code_view view = { 0 };

	if (walk->stack->n == SCRIPT_FRAMES_MAX ||
	    code_table_find(walk->codes, walk->process, address, identity, &view) !=
		    CODE_IS_KNOWN ||
	    view.trait != HOTSPOT_OBJECT_METHOD)
		return false;
	walk->stack->places[walk->stack->n++] = script_place(view.number, place);
	return true;
}

/* Where in its method the interpreter is. */
static uint64_t bytecode_of(const struct hotspot_walk *walk, const struct hotspot_frame *frame)
{
	uint64_t number = frame->call.what[1] - walk->fields->const_size;

	return number < HOTSPOT_BYTECODES_MAX ? number + 1 : 0;
}

static enum hotspot_at at_of(const struct hotspot_walk *walk, const struct hotspot_frame *frame)
{
	if (frame->call.where != WALK_WHERE_CALL)
		return HOTSPOT_AT_ANY;
	return walk->stack->n_segments ? HOTSPOT_AT_CALL_OF_METHOD : HOTSPOT_AT_CALL;
}

static bool add_compiled(struct hotspot_walk *walk, const struct hotspot_frame *frame)
{
	const struct hotspot_code code = { walk->fields, walk->codes, walk->process, frame->code,
					   frame->code_identity };
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
	int n = hotspot_code_find(&code, frame->pc, at_of(walk, frame), scopes);

	for (int i = 0; i < n; i++)
		if (!add_place(walk, scopes[i].method, scopes[i].identity, scopes[i].place))
			return false;
	return n > 0;
}

/* Makes a frame with a method a segment. False: it is not known: its place has no name. */
static bool take_frame(struct hotspot_walk *walk, const struct hotspot_frame *frame)
{
	struct script_stack *stack = walk->stack;
	size_t n = stack->n;
	bool is_known = frame->call.kind == WALK_CALL_COMPILED
				? add_compiled(walk, frame)
				: add_place(walk, frame->call.what[0], frame->method_identity,
					    bytecode_of(walk, frame));

	if (!is_known) {
		stack->n = n;
		if (stack->n < SCRIPT_FRAMES_MAX)
			stack->places[stack->n++] = script_place(0, 0);
	}
	stack->segments[stack->n_segments++] = (struct script_segment){
		.anchor = frame->sp,
		.instruction = frame->is_noted ? 0 : frame->pc,
		.n = stack->n - n,
	};
	return is_known;
}

enum script_outcome hotspot_walk_read(const struct hotspot_fields *fields,
				      const struct code_table *codes,
				      const struct wire_sample *sample, struct script_stack *ret)
{
	struct hotspot_walk walk = { fields, codes, sample->process, ret };
	struct walk_list_view frames;
	enum script_outcome outcome = hotspot_walk_open(fields, sample, &frames);
	bool is_partial = false;

	script_stack_begin(ret, SCRIPT_ANCHOR_STACK);
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	for (size_t i = 0; i < frames.n && ret->n_segments < SCRIPT_FRAMES_MAX; i++) {
		struct hotspot_frame frame;

		hotspot_frame_read(&frames, i, &frame);
		if (frame.call.kind == WALK_CALL_INTERPRETED ||
		    frame.call.kind == WALK_CALL_COMPILED)
			is_partial |= !take_frame(&walk, &frame);
	}
	if (is_partial || frames.end == WIRE_walk_end_ABSENT)
		return SCRIPT_PARTLY;
	if (frames.end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	return ret->n_segments ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}
