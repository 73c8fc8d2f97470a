/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/script/v8-walk.h"
#include "common/script/v8-pieces.h"
#include "live-unwinder/script/v8-code.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	IS_OBJECT = 1,
	CODE_IDENTITY = 8,  /* behind its address */
	FRAME_IS_MADE = 48, /* bytes of code, after which its frame is there */
};

struct v8_walk {
	const struct v8_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view frames;
	struct script_stack *stack;
	uint64_t missed;   /* a frame whose function is not known, at least not yet; 0: none */
	bool is_innermost; /* no frame was read yet */
	bool is_proved;	   /* the innermost one is that of what is executed */
	bool is_partial;   /* a frame has a function that is not known */
};

static enum v8_object function_kind(const struct v8_fields *fields,
				    const struct wire_memory *record)
{
	uint64_t data;

	if (!memory_field(&record->bytes, fields->function_data, &data, sizeof(data)))
		return V8_NOTHING;
	return data & IS_OBJECT ? V8_FUNCTION : V8_BUILTIN;
}

enum v8_object v8_object_of(const struct v8_fields *fields, const struct wire_memory *record)
{
	struct wire_blob map;
	struct v8_code code;

	if (v8_pieces_read(fields, &record->bytes, fields->function_size, fields->function_type,
			   &map, 1))
		return function_kind(fields, record);
	return v8_code_read(fields, record->address, &record->bytes, &code) ? V8_CODE : V8_NOTHING;
}

static bool fits(const struct v8_walk *walk)
{
	const struct v8_fields *fields = walk->fields;

	return walk_view_has(&walk->frames, fields->frame_function, sizeof(uint64_t)) &&
	       walk_view_has(&walk->frames, fields->frame_bytecode, sizeof(uint64_t)) &&
	       walk_view_has(&walk->frames, fields->frame_instruction, sizeof(uint64_t)) &&
	       walk_view_has(&walk->frames, fields->frame_code, CODE_IDENTITY + sizeof(uint64_t));
}

static bool add_place(struct v8_walk *walk, uint64_t address, uint64_t identity)
{
	struct script_code_view view = { 0 };

	if (walk->stack->n == SCRIPT_FRAMES_MAX ||
	    code_table_find(walk->codes, walk->process, address, identity, &view) !=
		    CODE_IS_KNOWN ||
	    view.trait != V8_FUNCTION)
		return false;
	walk->stack->places[walk->stack->n++] = script_place(view.number, 0);
	return true;
}

/* Whether a frame is of some code: what begins or leaves a function has the frame of another. */
static bool is_of_code(const struct v8_walk *walk, const struct v8_code *code, const char *window)
{
	const struct v8_fields *fields = walk->fields;

	if (code->kind > fields->code_baseline)
		return code->own == walk_view_word(window, fields->frame_function);
	return code->kind == fields->code_baseline &&
	       code->data == (walk_view_word(window, fields->frame_bytecode) & V8_ADDRESS_MASK);
}

/* Adds what optimized code has inlined at an offset, in front of its own function. */
static bool add_inlined(struct v8_walk *walk, const struct v8_code *code, uint64_t offset)
{
	struct v8_inlined inlined[V8_CALLS_MAX];
	int n = v8_code_find_inlined(walk->fields, code, offset, inlined);

	for (int i = 0; i < n; i++)
		if (!add_place(walk, inlined[i].address, inlined[i].identity))
			return false;
	return n >= 0;
}

/* Adds what the code of a frame has inlined; false: it is not known, or the code of another one. */
static bool read_code(struct v8_walk *walk, const char *window, uint64_t address, uint64_t identity)
{
	uint64_t instruction = walk_view_word(window, walk->fields->frame_instruction);
	struct script_code_view view = { 0 };
	struct wire_blob bytes;
	struct v8_code code;
	uint64_t offset;

	if (code_table_find(walk->codes, walk->process, address, identity, &view) !=
		    CODE_IS_KNOWN ||
	    !code_table_find_bytes(walk->codes, view.number, &bytes) ||
	    !v8_code_read(walk->fields, address, &bytes, &code) || !is_of_code(walk, &code, window))
		return false;
	offset = instruction - code.start - !walk->is_innermost; /* a call: within it */
	if (offset >= code.length)
		return false;
	walk->is_proved = walk->is_innermost && offset >= FRAME_IS_MADE;
	return code.kind == walk->fields->code_baseline || add_inlined(walk, &code, offset);
}

/* Makes a frame with a function a segment. False: something of it is not known. */
static bool take_frame(struct v8_walk *walk, const struct walk_element *element, const char *window)
{
	const struct v8_fields *fields = walk->fields;
	struct script_stack *stack = walk->stack;
	uint64_t code = walk_view_word(window, fields->frame_code);
	size_t n = stack->n;

	if ((code && !read_code(walk, window, code,
				walk_view_word(window, fields->frame_code + CODE_IDENTITY))) ||
	    !add_place(walk, walk_view_word(window, fields->frame_function), element->identity)) {
		stack->n = n;
		return false;
	}
	stack->segments[stack->n_segments++] = (struct script_segment){
		.anchor = element->address,
		.n = stack->n - n,
		.instruction = walk_view_word(window, fields->frame_instruction),
		.is_compiled = code,
		.is_innermost = walk->is_innermost,
		.is_proved = walk->is_innermost && walk->is_proved,
	};
	return true;
}

static bool is_builtin(const struct v8_walk *walk, uint64_t address, uint64_t identity)
{
	struct script_code_view view = { 0 };

	return code_table_find(walk->codes, walk->process, address, identity, &view) ==
		       CODE_IS_KNOWN &&
	       view.trait == V8_BUILTIN;
}

/* Whether the frame has a function already, of the other thing that it may execute. */
static bool has_segment(const struct script_stack *stack, uint64_t address)
{
	return stack->n_segments && stack->segments[stack->n_segments - 1].anchor == address;
}

/*
 * Frames without a function are those of stubs, and of builtins, which are in the stack already.
 * The innermost frame is there twice, with what it may execute: one of both must be known.
 */
static void read_frames(struct v8_walk *walk)
{
	uint64_t innermost = 0;

	for (size_t i = 0; i < walk->frames.n && i < SCRIPT_FRAMES_MAX; i++) {
		struct walk_element element;
		const char *window = walk_view_element(&walk->frames, i, &element);

		walk->is_partial |= walk->missed && walk->missed != element.address;
		walk->is_innermost = i == 0;
		if (!element.identity || (walk->is_proved && element.address == innermost) ||
		    is_builtin(walk, walk_view_word(window, walk->fields->frame_function),
			       element.identity))
			continue;
		if (i == 0)
			innermost = element.address;
		if (take_frame(walk, &element, window))
			walk->missed = 0;
		else if (!walk->is_partial && !has_segment(walk->stack, element.address))
			walk->missed = element.address;
	}
	walk->is_partial |= walk->missed != 0;
}

enum script_outcome v8_walk_read(const struct v8_fields *fields, const struct code_table *codes,
				 const struct wire_sample *sample, struct script_stack *ret)
{
	struct v8_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read(sample, lists);

	script_stack_begin(ret, SCRIPT_ANCHOR_POINTER);
	walk.frames = lists[0];
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!fits(&walk))
		return SCRIPT_DAMAGED;
	read_frames(&walk);
	if (walk.is_partial)
		return SCRIPT_PARTLY;
	if (lists[0].end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	return ret->n_segments ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}
