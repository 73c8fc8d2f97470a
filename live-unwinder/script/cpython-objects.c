/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/cpython-objects.h"
#include "live-unwinder/walk/walk-view.h"

enum {
	CODE_UNIT = 2, /* bytes of an instruction */
	SAVED = 7 * 8, /* the return address, and the registers that a function preserves */
};

struct objects {
	const struct cpython_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view frames;
	struct script_stack *stack;
};

static bool fits(const struct objects *objects)
{
	const struct cpython_fields *fields = objects->fields;

	return walk_view_has(&objects->frames, fields->frame_code, sizeof(uint64_t)) &&
	       walk_view_has(&objects->frames, fields->frame_previous, sizeof(uint64_t)) &&
	       walk_view_has(&objects->frames, fields->frame_index, sizeof(int32_t)) &&
	       walk_view_has(&objects->frames, fields->frame_state, 1);
}

/* The number of a frame's last instruction, from 1 on; 0: none yet. False: it is no such number. */
static bool read_instruction(const struct objects *objects, const char *window, uint64_t *ret)
{
	int64_t distance;
	int32_t index;

	memcpy(&index, window + objects->fields->frame_index, sizeof(index));
	distance = index * objects->fields->frame_unit;
	*ret = index < 0 ? 0 : distance / CODE_UNIT + 1;
	return index >= -1 && (index < 0 || distance % CODE_UNIT == 0) &&
	       *ret < SCRIPT_INSTRUCTIONS_MAX;
}

/* Takes one frame. Only the innermost one may be just before or behind its execution. */
static enum script_outcome take_frame(struct objects *objects, size_t i)
{
	const struct cpython_fields *fields = objects->fields;
	struct script_stack *stack = objects->stack;
	struct script_code_view code = { 0 };
	struct walk_element element;
	const char *window = walk_view_element(&objects->frames, i, &element);
	uint64_t instruction;
	enum code_table_answer answer = code_table_find(objects->codes, objects->process,
							walk_view_word(window, fields->frame_code),
							element.identity, &code);

	if (!element.identity || answer == CODE_IS_NONE ||
	    !read_instruction(objects, window, &instruction) ||
	    (i && window[fields->frame_state] != fields->frame_executing))
		return SCRIPT_TORN;
	if (answer == CODE_IS_UNKNOWN)
		return SCRIPT_UNKNOWN;
	stack->places[stack->n++] = script_place(code.number, instruction);
	stack->segments[stack->n_segments++] =
		(struct script_segment){ .anchor = element.address, .n = 1 };
	return SCRIPT_WHOLE;
}

static enum script_outcome read_frames(struct objects *objects)
{
	enum script_outcome outcome = SCRIPT_WHOLE;

	if (objects->frames.n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	/* Which activation is whose is known from the outermost one on. */
	if (objects->frames.end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	for (size_t i = 0; i < objects->frames.n && outcome == SCRIPT_WHOLE; i++)
		outcome = take_frame(objects, i);
	return outcome;
}

static enum script_outcome read_walk(struct objects *objects, const struct wire_sample *sample)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(sample, lists);

	objects->frames = lists[0];
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	return fits(objects) ? read_frames(objects) : SCRIPT_DAMAGED;
}

enum script_outcome cpython_objects_read(const struct cpython_fields *fields,
					 const struct code_table *codes,
					 const struct wire_sample *sample, struct script_stack *ret)
{
	struct objects objects = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_HELD);
	ret->saved = SAVED;
	return script_stack_end(ret, read_walk(&objects, sample));
}
