/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/ruby-walk.h"
#include "live-unwinder/walk/code-begin.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	/* vm_core.h: what a frame is, in a number that is tagged as such. */
	TAG = 1,
	KIND_MASK = 0x7fff0000,
	METHOD = 0x11110000,
	BLOCK = 0x22220000,
	CLASS = 0x33330000,
	TOP = 0x44440000,
	C_FUNCTION = 0x55550000,
	C_BLOCK = 0x66660000,
	EVAL = 0x77770000,
	RESCUE = 0x78880000,
	DUMMY = 0x79990000,
	FINISH = 1 << 5, /* with it an activation of the loop ends */
	OF_C = 1 << 7,
	ESCAPED = 1 << 2,     /* its variables are elsewhere */
	VALUES_OF_FRAME = 24, /* the outermost frame has the first words of the array */
	WORD_BITS = 3,
};

struct ruby_walk {
	const struct ruby_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view frames;
	struct script_stack *stack;
	struct script_segment segment; /* the current one; its anchor is 0: it has no frame yet */
};

uint64_t ruby_code_begin(const struct ruby_fields *fields, const struct wire_memory *record)
{
	return code_begin_trait(record, fields->body_code, fields->body_count, WORD_BITS);
}

static bool fits(const struct ruby_walk *walk)
{
	const struct ruby_fields *fields = walk->fields;

	return walk_view_has(&walk->frames, fields->frame_pc, sizeof(uint64_t)) &&
	       walk_view_has(&walk->frames, fields->frame_sp, sizeof(uint64_t)) &&
	       walk_view_has(&walk->frames, fields->frame_iseq, sizeof(uint64_t)) &&
	       walk_view_has(&walk->frames, fields->frame_flags, sizeof(uint64_t));
}

/*
 * What the segment's activation holds: its innermost frame. As that is entered, it still holds the
 * frame that has called it; and as one ends, that one, which was where the next would be.
 */
static void note_frame(struct ruby_walk *walk, uint64_t address, bool is_begun)
{
	struct script_segment *segment = &walk->segment;
	size_t size = walk->frames.window - sizeof(uint64_t);

	if (segment->n == 0) {
		segment->anchor = address;
		segment->others[0] = address - size;
		segment->is_unstarted = !is_begun;
	} else if (segment->n == 1) {
		segment->others[1] = address;
	}
	segment->n++;
}

static enum script_outcome take_script(struct ruby_walk *walk, const struct walk_element *element,
				       const char *window, uint64_t flags)
{
	uint64_t pc = walk_view_word(window, walk->fields->frame_pc), distance = 0;
	struct script_code_view code = { 0 };

	switch (code_table_find(walk->codes, walk->process,
				walk_view_word(window, walk->fields->frame_iseq), element->identity,
				&code)) {
	case CODE_IS_KNOWN:
		break;
	case CODE_IS_UNKNOWN:
		return element->identity ? SCRIPT_UNKNOWN : SCRIPT_TORN;
	default:
		return SCRIPT_TORN;
	}
	if (pc)
		distance = code_begin_distance(code.trait, pc, WORD_BITS);
	walk->stack->places[walk->stack->n++] = script_place(code.number, distance);
	note_frame(walk, element->address, distance);
	if (flags & FINISH) {
		walk->stack->segments[walk->stack->n_segments++] = walk->segment;
		walk->segment = (struct script_segment){ 0 };
	}
	return SCRIPT_WHOLE;
}

static enum script_outcome take_frame(struct ruby_walk *walk, size_t i)
{
	struct walk_element element;
	const char *window = walk_view_element(&walk->frames, i, &element);
	uint64_t flags = walk_view_word(window, walk->fields->frame_flags);

	if (!(flags & TAG) || flags >> 32)
		return SCRIPT_TORN;
	switch (flags & KIND_MASK) {
	case METHOD:
	case BLOCK:
	case CLASS:
	case TOP:
	case EVAL:
	case RESCUE:
		return flags & OF_C ? SCRIPT_TORN : take_script(walk, &element, window, flags);
	case C_FUNCTION:
	case C_BLOCK:
		/* They are C functions of the stack. What C calls has FINISH, but at first not yet.
		 */
		return walk->segment.n ? SCRIPT_TORN : SCRIPT_WHOLE;
	case DUMMY: /* they execute nothing */
		return SCRIPT_WHOLE;
	default:
		return SCRIPT_TORN;
	}
}

/*
 * Whether a frame is the outermost one: of C, or, of the main thread, with the variables that all
 * see. There are others that look like it while C libraries are loaded.
 */
static bool is_outermost(const struct ruby_walk *walk, const char *window)
{
	uint64_t flags = walk_view_word(window, walk->fields->frame_flags);

	return (flags & KIND_MASK) == DUMMY && flags & FINISH && flags & (OF_C | ESCAPED);
}

static enum script_outcome read_frames(struct ruby_walk *walk)
{
	struct walk_element outermost;
	const char *window;

	if (walk->frames.n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	/* Which activation is whose is known from the outermost one on. */
	if (walk->frames.end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	for (size_t i = 0; i < walk->frames.n; i++) {
		enum script_outcome outcome = take_frame(walk, i);

		if (outcome != SCRIPT_WHOLE)
			return outcome;
	}
	window = walk_view_element(&walk->frames, walk->frames.n - 1, &outermost);
	if (walk->segment.n || !is_outermost(walk, window))
		return SCRIPT_TORN;
	walk->stack->frames_from = walk_view_word(window, walk->fields->frame_sp) - VALUES_OF_FRAME;
	return walk->stack->n_segments ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}

static enum script_outcome read_walk(struct ruby_walk *walk, const struct wire_sample *sample)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(sample, lists);

	walk->frames = lists[0];
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	return fits(walk) ? read_frames(walk) : SCRIPT_DAMAGED;
}

enum script_outcome ruby_walk_read(const struct ruby_fields *fields, const struct code_table *codes,
				   const struct wire_sample *sample, struct script_stack *ret)
{
	struct ruby_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_HELD);
	ret->loop_calls_made = true;
	return script_stack_end(ret, read_walk(&walk, sample));
}
