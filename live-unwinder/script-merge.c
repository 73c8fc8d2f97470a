/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/script-place.h"
#include "live-unwinder/script-activations.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/v8/v8-builtins.h"

enum {
	FRAME_RECORD_SIZE = 16, /* the caller's frame pointer, and the return address */
	CALL_MAX = 64,		/* bytes of code from what V8 knows of a call to where it returns */
};

/* Segments that have a C frame: each its own, in their order. */
struct placing {
	struct script_stack *stack;
	const struct unwinding *unwinding;
	size_t frames[SCRIPT_FRAMES_MAX]; /* of each segment: the C frame that it is inside of */
	size_t n_segments, n;		  /* that have one, and their frames */
};

/* A C frame reaches from its stack pointer to that of its caller. The last one's end is not known.
 */
static enum script_outcome place_segments(struct placing *placing)
{
	const struct unwinding *unwinding = placing->unwinding;
	const uint64_t *pointers = unwinding->stack_pointers;
	size_t frame = 0;

	for (size_t i = 0; i < placing->stack->n_segments; i++) {
		uint64_t anchor = placing->stack->segments[i].anchor;

		if (i)
			frame++; /* no two segments are in one */
		while (frame + 1 < unwinding->n_frames && pointers[frame + 1] <= anchor)
			frame++;
		if (frame + 1 >= unwinding->n_frames)
			return unwinding->end == WIRE_stack_end_COMPLETE ? SCRIPT_UNPLACED
									 : SCRIPT_CUT;
		if (anchor < pointers[frame])
			return SCRIPT_UNPLACED;
		placing->frames[placing->n_segments++] = frame;
		placing->n += placing->stack->segments[i].n;
	}
	return SCRIPT_WHOLE;
}

static enum script_outcome find_activations(struct placing *placing, const struct script_loop *loop)
{
	enum script_outcome outcome =
		script_activations_find(placing->stack, loop, placing->unwinding, placing->frames);

	if (outcome == SCRIPT_WHOLE) {
		placing->n_segments = placing->stack->n_segments;
		placing->n = placing->stack->n;
	}
	return outcome;
}

/* The mapping of the interpreter's file that has a frame's code; NULL: other code is executed. */
static const struct mapping *find_interpreter(const struct script_stack *stack,
					      const struct unwinding *unwinding,
					      const struct wire_frame *frame)
{
	const struct mapping *mapping =
		mapping_table_find(process_mappings(unwinding->process), frame_code(frame));

	return mapping && mapping->image == stack->image ? mapping : NULL;
}

/* Whether a frame is one of the interpreter's own functions. */
static bool is_in_interpreter(const struct script_stack *stack, const struct unwinding *unwinding,
			      const struct wire_frame *frame)
{
	return find_interpreter(stack, unwinding, frame);
}

/*
 * Whether a frame is one of V8's builtins, which execute functions. C++ does not: words on its
 * stack may look like a frame of JavaScript, as those of what marks objects do.
 */
static bool is_builtin(const struct script_stack *stack, const struct unwinding *unwinding,
		       const struct wire_frame *frame)
{
	const struct mapping *mapping = find_interpreter(stack, unwinding, frame);

	return mapping && unwinding->builtins &&
	       v8_builtins_has_met(unwinding->builtins, mapping->image,
				   frame_code(frame) - mapping->start + mapping->offset);
}

/*
 * Whether a frame executes what a segment says. If the innermost one has called C, V8 knows an
 * instruction shortly before the call; else it is what the thread executes.
 */
static bool executes(const struct unwinding *unwinding, size_t frame,
		     const struct script_segment *segment)
{
	const struct wire_frame *frames = unwinding->frames;
	bool has_called_c = segment->is_innermost && segment->instruction != frames[0].address;

	return frames[frame].address - segment->instruction <= (has_called_c ? CALL_MAX : 0);
}

/* A segment is that of a frame which has its frame pointer, and executes what it says. */
static bool is_frame_of(const struct script_stack *stack, const struct unwinding *unwinding,
			size_t frame, const struct script_segment *segment)
{
	const struct wire_frame *of = &unwinding->frames[frame];

	return unwinding->stack_pointers[frame + 1] == segment->anchor + FRAME_RECORD_SIZE &&
	       executes(unwinding, frame, segment) &&
	       (segment->is_compiled ? !is_in_interpreter(stack, unwinding, of)
				     : is_builtin(stack, unwinding, of));
}

/* Whether a function of the interpreter executes functions of the script: another frame says so. */
static bool runs_script(const struct script_stack *stack, uint64_t instruction)
{
	for (size_t i = 0; i < stack->n_segments; i++)
		if (!stack->segments[i].is_compiled &&
		    stack->segments[i].instruction == instruction)
			return true;
	return false;
}

/*
 * Removes the second frame if it has that of the innermost one: an old return address on top of the
 * stack looks as if what is executed had no frame yet. A function that has called itself, and ends,
 * looks the same, so only frames that can be no function's are removed.
 */
static void remove_false_caller(const struct script_stack *stack, struct unwinding *unwinding)
{
	const struct script_segment *innermost = &stack->segments[0];
	uint64_t *pointers = unwinding->stack_pointers;

	if (unwinding->n_frames < 3 || !innermost->is_proved ||
	    unwinding->frames[0].address != innermost->instruction ||
	    pointers[2] != innermost->anchor + FRAME_RECORD_SIZE ||
	    !is_in_interpreter(stack, unwinding, &unwinding->frames[1]) ||
	    runs_script(stack, unwinding->frames[1].address))
		return;
	unwinding->n_frames--;
	memmove(unwinding->frames + 1, unwinding->frames + 2,
		(unwinding->n_frames - 1) * sizeof(*unwinding->frames));
	memmove(pointers + 1, pointers + 2, (unwinding->n_frames - 1) * sizeof(*pointers));
}

/* Whether a segment is of the same frame as the one before: it executes one or the other. */
static bool is_alternative(const struct script_stack *stack, size_t i)
{
	return i && stack->segments[i].anchor == stack->segments[i - 1].anchor;
}

/* Whether each frame that may be one of a script is: compilers' code has only such. */
static bool is_all_placed(const struct script_stack *stack, const struct placing *placing)
{
	const struct unwinding *unwinding = placing->unwinding;
	size_t next = 0;

	for (size_t i = 0; i < unwinding->n_frames; i++) {
		const struct wire_frame *frame = &unwinding->frames[i];

		if (next < placing->n_segments && placing->frames[next] == i)
			next++;
		else if (frame->flags & WIRE_frame_flags_FRAME_POINTER &&
			 !is_in_interpreter(stack, unwinding, frame))
			return false;
	}
	return true;
}

/* Places those segments that have a frame, and forgets the others. */
static enum script_outcome place_by_pointer(struct script_stack *stack, struct placing *placing)
{
	const struct unwinding *unwinding = placing->unwinding;
	size_t from = 0, frame = 0, n_wanted = 0;

	for (size_t i = 0; i < stack->n_segments; i++) {
		struct script_segment segment = stack->segments[i];
		const uint64_t *places = stack->places + from;

		n_wanted += !is_alternative(stack, i);
		from += segment.n;
		while (frame + 1 < unwinding->n_frames &&
		       unwinding->stack_pointers[frame + 1] < segment.anchor + FRAME_RECORD_SIZE)
			frame++;
		if (frame + 1 >= unwinding->n_frames ||
		    !is_frame_of(stack, unwinding, frame, &segment))
			continue;
		memmove(stack->places + placing->n, places, segment.n * sizeof(*places));
		placing->n += segment.n;
		placing->frames[placing->n_segments] = frame++;
		stack->segments[placing->n_segments++] = segment;
	}
	return placing->n_segments == n_wanted && is_all_placed(stack, placing) ? SCRIPT_WHOLE
										: SCRIPT_PARTLY;
}

/*
 * A segment is that of a frame which has its stack pointer, and executes what it says; or, without
 * an instruction, of the frame in which its stack pointer lies.
 */
static bool has_stack_pointer(const struct unwinding *unwinding, size_t frame,
			      const struct script_segment *segment)
{
	const uint64_t *pointers = unwinding->stack_pointers;

	if (segment->instruction)
		return pointers[frame] == segment->anchor &&
		       unwinding->frames[frame].address == segment->instruction;
	return frame + 1 < unwinding->n_frames && pointers[frame] <= segment->anchor &&
	       pointers[frame + 1] > segment->anchor;
}

static enum script_outcome place_by_stack(struct script_stack *stack, struct placing *placing)
{
	const struct unwinding *unwinding = placing->unwinding;
	size_t frame = 0;

	for (size_t i = 0; i < stack->n_segments; i++) {
		while (frame < unwinding->n_frames &&
		       !has_stack_pointer(unwinding, frame, &stack->segments[i]))
			frame++;
		if (frame == unwinding->n_frames)
			return unwinding->end == WIRE_stack_end_COMPLETE ? SCRIPT_UNPLACED
									 : SCRIPT_CUT;
		placing->frames[placing->n_segments++] = frame++;
		placing->n += stack->segments[i].n;
	}
	return SCRIPT_WHOLE;
}

/* Places those segments that have a frame. */
static enum script_outcome place_by_return(struct script_stack *stack, struct placing *placing)
{
	const struct unwinding *unwinding = placing->unwinding;
	size_t frame = 0;

	for (size_t i = 0; i < stack->n_segments; i++) {
		const struct script_segment segment = stack->segments[i];

		while (frame < unwinding->n_frames &&
		       unwinding->stack_pointers[frame] < segment.anchor)
			frame++;
		if (frame == unwinding->n_frames && unwinding->end != WIRE_stack_end_COMPLETE)
			return SCRIPT_CUT;
		if (frame == unwinding->n_frames || !has_stack_pointer(unwinding, frame, &segment))
			continue;
		stack->places[placing->n++] = stack->places[i];
		placing->frames[placing->n_segments] = frame++;
		stack->segments[placing->n_segments++] = segment;
	}
	return placing->n ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}

/*
 * The loop executes functions of C that the script has called: what has called the loop itself has
 * nothing to do with the script, and is left out but for the frame that will be replaced.
 */
static enum script_outcome place_behind_loop(const struct script_stack *stack,
					     const struct script_loop *loop,
					     struct placing *placing, struct unwinding *unwinding)
{
	size_t frame = 0;

	while (frame < unwinding->n_frames && !script_loop_has(loop, &unwinding->frames[frame]))
		frame++;
	if (!frame || frame + 1 >= unwinding->n_frames)
		return SCRIPT_NO_FRAMES;
	unwinding->n_frames = frame + 2;
	placing->frames[placing->n_segments++] = frame + 1;
	placing->n = stack->n;
	return SCRIPT_WHOLE;
}

/* Copies the frames of one segment, of which the last is places[n - 1], in front of `to`. */
static struct wire_frame *copy_segment(struct wire_frame *to, uint64_t start,
				       const uint64_t *places, size_t n, uint32_t mapping)
{
	while (n--)
		*--to = (struct wire_frame){
			.address = start + places[n],
			.mapping = mapping,
			.flags = WIRE_frame_flags_SCRIPT | WIRE_frame_flags_EXACT,
		};
	return to;
}

/* From the outermost frame on, so that each moves to where nothing is needed any more. */
static void put_segments(const struct placing *placing, uint32_t mapping,
			 struct unwinding *unwinding)
{
	size_t frame = unwinding->n_frames, place = placing->n;
	struct wire_frame *to;

	unwinding->n_frames += placing->n;
	to = unwinding->frames + unwinding->n_frames;
	for (size_t i = placing->n_segments; i--;) {
		size_t n = placing->stack->segments[i].n;

		while (frame > placing->frames[i])
			*--to = unwinding->frames[--frame];
		place -= n;
		to = copy_segment(to, script_start(placing->stack->language),
				  placing->stack->places + place, n, mapping);
	}
}

/* What executes the script's functions is its own code, the last frame: they stand for it. */
static void end_with_script(const struct script_stack *stack, struct unwinding *unwinding)
{
	unwinding->n_frames--;
	unwinding->end = stack->own_end;
	unwinding->failed_image = NULL;
}

enum script_outcome script_merge(struct script_stack *stack, const struct script_loop *loop,
				 uint32_t mapping, struct unwinding *unwinding)
{
	struct placing placing = { .stack = stack, .unwinding = unwinding };
	enum script_outcome outcome;

	switch (stack->anchoring) {
	case SCRIPT_ANCHOR_HELD:
	case SCRIPT_ANCHOR_COUNTED:
		outcome = find_activations(&placing, loop);
		break;
	case SCRIPT_ANCHOR_POINTER:
		remove_false_caller(stack, unwinding);
		outcome = place_by_pointer(stack, &placing);
		break;
	case SCRIPT_ANCHOR_STACK:
		outcome = place_by_stack(stack, &placing);
		break;
	case SCRIPT_ANCHOR_RETURN:
		outcome = place_by_return(stack, &placing);
		break;
	case SCRIPT_ANCHOR_LOOP:
		outcome = place_behind_loop(stack, loop, &placing, unwinding);
		break;
	default:
		outcome = place_segments(&placing);
	}

	if (outcome != SCRIPT_UNPLACED)
		put_segments(&placing, mapping, unwinding);
	if (outcome == SCRIPT_WHOLE && stack->own_end)
		end_with_script(stack, unwinding);
	return outcome;
}
