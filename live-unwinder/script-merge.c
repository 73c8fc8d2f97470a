/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/stream/script-place.h"
#include "live-unwinder/script-activations.h"
#include "live-unwinder/script-merge.h"

/* Segments that have a C frame: each its own, in their order. */
struct placing {
	const struct script_stack *stack;
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

enum script_outcome script_merge(const struct script_stack *stack, const struct script_loop *loop,
				 uint32_t mapping, struct unwinding *unwinding)
{
	struct placing placing = { .stack = stack, .unwinding = unwinding };
	enum script_outcome outcome = stack->anchoring == SCRIPT_ANCHOR_HELD
					      ? find_activations(&placing, loop)
					      : place_segments(&placing);

	if (outcome != SCRIPT_UNPLACED)
		put_segments(&placing, mapping, unwinding);
	return outcome;
}
