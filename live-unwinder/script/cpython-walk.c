/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/cpython-walk.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	FRAMES = 0,
	CFRAMES = 1,
	/* enum _frameowner */
	OWNED_BY_THREAD = 0,
	OWNED_BY_GENERATOR = 1,
	OWNED_BY_C = 3, /* the frame that C has called, without code */
	CODE_UNIT = 2,	/* bytes of an instruction */
	WORD = 8,
	/* Where the first frame is in a piece of a thread's frames (_PyStackChunk), from a page on.
	 */
	PAGE = 4096,
	PIECE_BEGIN = 24,
	FIRST_PIECE_BEGIN = 32,
};

struct cpython_walk {
	const struct cpython_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view lists[WALK_LISTS_MAX];
	struct script_stack *stack;
	uint64_t segment_frame; /* address of the current segment's first frame; 0: none yet */
	uint32_t n_in_segment;
	uint64_t inner_frame; /* the last frame that the thread owns, whose caller is to follow */
};

/* Whether the walk's windows hold the fields. */
static bool fits(const struct cpython_walk *walk)
{
	const struct cpython_fields *fields = walk->fields;
	const struct walk_list_view *frames = &walk->lists[FRAMES],
				    *cframes = &walk->lists[CFRAMES];

	if (!walk_view_has(frames, fields->frame_code, sizeof(uint64_t)) ||
	    !walk_view_has(frames, fields->frame_previous, sizeof(uint64_t)) ||
	    !walk_view_has(frames, fields->frame_instruction, sizeof(uint64_t)) ||
	    !walk_view_has(frames, fields->frame_owner, 1))
		return false;
	if (fields->frame_copy >= 0 && !walk_view_has(frames, fields->frame_copy, sizeof(uint64_t)))
		return false;
	if (fields->frame_entry >= 0 &&
	    !(walk_view_has(frames, fields->frame_entry, 1) && cframes->elements))
		return false;
	return !cframes->elements ||
	       (walk_view_has(cframes, fields->cframe_frame, sizeof(uint64_t)) &&
		walk_view_has(cframes, fields->cframe_previous, sizeof(uint64_t)));
}

static bool begins_piece(uint64_t frame)
{
	return frame % PAGE == PIECE_BEGIN || frame % PAGE == FIRST_PIECE_BEGIN;
}

/*
 * Frames of a thread are a stack: each begins where the next outer one ends, or begins a piece. A
 * frame that is linked before it knows its caller has a caller of an earlier call.
 */
static bool is_called_by(struct cpython_walk *walk, uint64_t frame, uint64_t size)
{
	uint64_t inner = walk->inner_frame;

	walk->inner_frame = frame;
	return !inner || begins_piece(inner) || inner == frame + size;
}

/* Where the instructions begin that a frame of this code executes. */
static uint64_t instructions_of(const struct cpython_fields *fields, const char *window,
				uint64_t code)
{
	return fields->frame_copy >= 0 ? walk_view_word(window, fields->frame_copy)
				       : code + fields->code_bytes;
}

/* Adds the place of a frame. SCRIPT_WHOLE, or what is wrong. */
static enum script_outcome add_place(struct cpython_walk *walk, const struct walk_element *element,
				     const char *window)
{
	const struct cpython_fields *fields = walk->fields;
	uint64_t tags = fields->frame_tags > 0 ? fields->frame_tags : 0;
	uint64_t address = walk_view_word(window, fields->frame_code) & ~tags;
	uint64_t distance = walk_view_word(window, fields->frame_instruction) -
			    (instructions_of(fields, window, address) - CODE_UNIT);
	struct script_code_view code = { 0 };
	enum code_table_answer answer =
		code_table_find(walk->codes, walk->process, address, element->identity, &code);

	if (!element->identity || answer == CODE_IS_NONE || distance % CODE_UNIT ||
	    distance / CODE_UNIT >= SCRIPT_INSTRUCTIONS_MAX)
		return SCRIPT_TORN;
	if (answer == CODE_IS_UNKNOWN)
		return SCRIPT_UNKNOWN;
	if (window[fields->frame_owner] == OWNED_BY_THREAD &&
	    !is_called_by(walk, element->address, (uint64_t)code.trait * WORD))
		return SCRIPT_TORN;
	walk->stack->places[walk->stack->n++] = script_place(code.number, distance / CODE_UNIT);
	walk->n_in_segment++;
	return SCRIPT_WHOLE;
}

/*
 * Ends a segment. Up to 3.12 the list of activations has its first frame again, and its element
 * lies in the C frame. False: it does not.
 */
static bool end_segment(struct cpython_walk *walk, uint64_t anchor)
{
	const struct walk_list_view *cframes = &walk->lists[CFRAMES];
	struct script_stack *stack = walk->stack;

	if (cframes->elements) {
		struct walk_element head;
		const char *window;

		if (stack->n_segments >= cframes->n)
			return false;
		window = walk_view_element(cframes, stack->n_segments, &head);
		if (walk_view_word(window, walk->fields->cframe_frame) != walk->segment_frame)
			return false;
		if (walk->fields->frame_entry >= 0)
			anchor = head.address;
	}
	stack->segments[stack->n_segments++] =
		(struct script_segment){ .anchor = anchor, .n = walk->n_in_segment };
	walk->segment_frame = walk->n_in_segment = 0;
	return true;
}

/*
 * Whether a frame that C has called is the outermost of the thread, below all activations: from
 * 3.15 on the thread state has one, which runs nothing.
 */
static bool is_base(const struct cpython_walk *walk, size_t i, const char *window)
{
	return i && i + 1 == walk->lists[FRAMES].n && !walk->n_in_segment &&
	       !walk_view_word(window, walk->fields->frame_previous);
}

/* Takes one frame. SCRIPT_WHOLE, or what is wrong. */
static enum script_outcome take_frame(struct cpython_walk *walk, size_t i)
{
	const struct cpython_fields *fields = walk->fields;
	bool has_entries = fields->frame_entry >= 0;
	struct walk_element element;
	const char *window = walk_view_element(&walk->lists[FRAMES], i, &element);
	uint8_t owner = window[fields->frame_owner];
	enum script_outcome outcome;

	if (owner == OWNED_BY_C && !has_entries && is_base(walk, i, window))
		return SCRIPT_WHOLE;
	if (!walk->segment_frame)
		walk->segment_frame = element.address;
	if (owner == OWNED_BY_C && !has_entries)
		return end_segment(walk, element.address) ? SCRIPT_WHOLE : SCRIPT_TORN;
	if (owner != OWNED_BY_THREAD && owner != OWNED_BY_GENERATOR)
		return SCRIPT_TORN;
	outcome = add_place(walk, &element, window);
	if (outcome == SCRIPT_WHOLE && has_entries && window[fields->frame_entry] &&
	    !end_segment(walk, 0))
		return SCRIPT_TORN;
	return outcome;
}

static bool has_no_frame(const struct cpython_walk *walk, size_t activation)
{
	struct walk_element head;

	return !walk_view_word(walk_view_element(&walk->lists[CFRAMES], activation, &head),
			       walk->fields->cframe_frame);
}

/*
 * Up to 3.12 the list of activations ends with that of the thread state itself, which has no frame,
 * and so has the one that a greenlet began with. A new activation that is not filled in yet leads
 * into what lay on the stack before.
 */
static bool has_all_activations(const struct cpython_walk *walk)
{
	const struct walk_list_view *cframes = &walk->lists[CFRAMES];
	size_t n = walk->stack->n_segments;

	if (!cframes->elements)
		return true;
	if (cframes->end != WIRE_walk_end_END || cframes->n <= n || !has_no_frame(walk, n))
		return false;
	return cframes->n == n + 1 || (n && cframes->n == n + 2 && has_no_frame(walk, n + 1));
}

static enum script_outcome read_frames(struct cpython_walk *walk)
{
	const struct walk_list_view *frames = &walk->lists[FRAMES];
	struct script_stack *stack = walk->stack;

	if (frames->n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	for (size_t i = 0; i < frames->n; i++) {
		enum script_outcome outcome = take_frame(walk, i);

		if (outcome != SCRIPT_WHOLE)
			return outcome;
	}
	if (frames->end == WIRE_walk_end_LIMIT) {
		stack->n -= walk->n_in_segment; /* nobody knows where that segment is */
		return SCRIPT_LIMIT;
	}
	/* A frame without a caller that C has not called is no last one. */
	if (walk->segment_frame || walk->n_in_segment ||
	    (walk->inner_frame && !begins_piece(walk->inner_frame)))
		return SCRIPT_TORN;
	return has_all_activations(walk) ? SCRIPT_WHOLE : SCRIPT_TORN;
}

static enum script_outcome read_walk(struct cpython_walk *walk, const struct wire_sample *sample)
{
	enum script_outcome outcome = walk_view_read_whole(sample, walk->lists);

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	return fits(walk) ? read_frames(walk) : SCRIPT_DAMAGED;
}

enum script_outcome cpython_walk_read(const struct cpython_fields *fields,
				      const struct code_table *codes,
				      const struct wire_sample *sample, struct script_stack *ret)
{
	struct cpython_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_IN_FRAME);
	return script_stack_end(ret, read_walk(&walk, sample));
}
