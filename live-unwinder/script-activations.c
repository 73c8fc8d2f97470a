/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/script-activations.h"

enum {
	WORD = 8,
	SEARCHED_MAX = 65536, /* bytes of the stack in which an address is looked for */
	ACTIVATION_MIN = 256, /* an activation, and what calls it, need more */
};

struct activations {
	const struct unwinding *unwinding;
	const struct script_loop *loop;
	uint64_t saved;
	size_t frames[SCRIPT_FRAMES_MAX + 1];
	size_t n;
	size_t outermost; /* frame, of those that are not listed, too */
};

bool script_loop_has(const struct script_loop *loop, const struct wire_frame *frame)
{
	int64_t code = frame_code(frame);

	return (code >= loop->from && code < loop->to) ||
	       (code >= loop->other_from && code < loop->other_to);
}

static bool is_called_from(const struct unwinding *unwinding, size_t frame, int64_t from,
			   int64_t to)
{
	int64_t caller = unwinding->frames[frame + 1].address;

	return caller >= from && caller < to;
}

/* Whether a frame is code that a compiler has made of the script, and the interpreter has called.
 */
static bool is_made(const struct unwinding *unwinding, size_t frame)
{
	for (size_t i = 0; i < unwinding->n_made; i++)
		if (unwinding->made[i] == frame)
			return true;
	return false;
}

/* Whether the loop has called made code, itself or by another function, for what it executes. */
static bool is_called_for_loop(const struct activations *activations, size_t frame)
{
	const struct unwinding *unwinding = activations->unwinding;

	return script_loop_has(activations->loop, &unwinding->frames[frame + 1]) ||
	       (frame + 2 < unwinding->n_frames &&
		script_loop_has(activations->loop, &unwinding->frames[frame + 2]));
}

/* False: there are too many. */
static bool list_activations(struct activations *activations, const struct script_stack *stack)
{
	const struct unwinding *unwinding = activations->unwinding;
	bool goes_on = false; /* a listed activation executes more of this one's segment */

	/* The last frame's end is not known; it is of the C library, or of the thread's begin. */
	for (size_t i = 0; i + 1 < unwinding->n_frames; i++) {
		bool is_listed = !goes_on, is_code = is_made(unwinding, i);

		if (!is_code && !script_loop_has(activations->loop, &unwinding->frames[i]))
			continue;
		activations->outermost = i;
		goes_on = is_code ? stack->loop_calls_made && is_called_for_loop(activations, i)
				  : is_called_from(unwinding, i, stack->more_from, stack->more_to);
		if (!is_listed)
			continue;
		if (activations->n > SCRIPT_FRAMES_MAX)
			return false;
		activations->frames[activations->n++] = i;
	}
	return true;
}

static bool is_in_registers(const struct unwinding *unwinding, uint64_t value)
{
	for (size_t i = 0; i < unwinding->sample->registers.n; i++)
		if (unwinding->sample->registers.data[i] == value)
			return true;
	return false;
}

/* Whether a word of the stack in [low, high) is `value`; looked for from the high end on. */
static bool is_on_stack(const struct unwinding *unwinding, uint64_t low, uint64_t high,
			uint64_t value)
{
	uint64_t start = unwinding_register(unwinding, unwinding->arch->sp), word;

	if (high - low > SEARCHED_MAX)
		low = high - SEARCHED_MAX;
	for (uint64_t at = high - WORD; at >= low && at < high; at -= WORD)
		if (stack_read_word(&unwinding->sample->stack, start, at, &word) && word == value)
			return true;
	return false;
}

/* Where activations that are called by the i-th one begin to save what it holds. */
static uint64_t saved_from(const struct activations *activations, size_t i)
{
	const uint64_t *pointers = activations->unwinding->stack_pointers;
	uint64_t begin, end;

	if (!i)
		return pointers[0];
	begin = pointers[activations->frames[i - 1]];
	end = pointers[activations->frames[i - 1] + 1];
	return end - begin > activations->saved ? end - activations->saved : begin;
}

/* Whether the i-th activation holds a value. */
static bool holds(const struct activations *activations, size_t i, uint64_t value)
{
	const uint64_t *pointers = activations->unwinding->stack_pointers;
	uint64_t low = saved_from(activations, i), high = pointers[activations->frames[i] + 1];

	if (high <= low)
		return false;
	/* The innermost ones' registers may not be saved anywhere. */
	return (i < 2 && is_in_registers(activations->unwinding, value)) ||
	       is_on_stack(activations->unwinding, low, high, value);
}

/* Whether what has called the i-th activation holds a value; 0: it need not hold any. */
static bool caller_holds(const struct activations *activations, size_t i, uint64_t value)
{
	const struct unwinding *unwinding = activations->unwinding;
	size_t next = i + 1 < activations->n ? activations->frames[i + 1] : unwinding->n_frames - 1;

	return value && is_on_stack(unwinding, unwinding->stack_pointers[activations->frames[i]],
				    unwinding->stack_pointers[next], value);
}

/*
 * Whether the i-th activation can be that of a segment, by what has called it. A generator is in
 * the list before it has an activation, and for a moment with what has resumed it earlier.
 */
static bool is_called_as(const struct activations *activations, size_t i,
			 const struct script_stack *stack, const struct script_segment *segment)
{
	return !stack->resume_to ||
	       is_called_from(activations->unwinding, activations->frames[i], stack->resume_from,
			      stack->resume_to) == segment->is_generator;
}

/* Whether the innermost activation holds what it may hold as a frame begins or ends. */
static bool holds_other(const struct activations *activations, size_t i,
			const struct script_segment *segment)
{
	return i == 0 && ((segment->others[0] && holds(activations, i, segment->others[0])) ||
			  (segment->others[1] && holds(activations, i, segment->others[1])));
}

/*
 * Whether the i-th activation, or what has called it, holds what shows that a segment is its. Of a
 * generator that is what has resumed it.
 */
static bool is_of(const struct activations *activations, size_t i, const struct script_stack *stack,
		  const struct script_segment *segment)
{
	return is_called_as(activations, i, stack, segment) &&
	       (segment->is_generator || holds(activations, i, segment->anchor) ||
		holds_other(activations, i, segment) ||
		caller_holds(activations, i, segment->entry));
}

/*
 * Whether the innermost activation may be without a frame: it enters or leaves a function, and does
 * not hold the address of the frame that is said to be the innermost, which would then be its own.
 */
static bool may_be_without(const struct activations *activations, uint64_t innermost)
{
	const uint64_t *pointers = activations->unwinding->stack_pointers;

	return activations->frames[0] == 0 && !is_in_registers(activations->unwinding, innermost) &&
	       (pointers[1] - pointers[0] <= activations->saved ||
		!is_on_stack(activations->unwinding, pointers[0], pointers[1] - activations->saved,
			     innermost));
}

/*
 * Whether no C frames are missing that may be activations: none is, or the stack goes on to where
 * the array of frames lies that they execute, or so near to it that no activation has room.
 */
static bool has_all_activations(const struct unwinding *unwinding, uint64_t frames_from)
{
	uint64_t start = unwinding_register(unwinding, unwinding->arch->sp),
		 last = unwinding->stack_pointers[unwinding->n_frames - 1];
	enum wire_stack_end end = unwinding->end;

	if (end == WIRE_stack_end_COMPLETE)
		return true;
	if (unwinding->is_unproved || unwinding->sample->flags & WIRE_sample_flags_MAPPINGS_LOST)
		return false;
	if (last < start || last > frames_from)
		return false;
	return frames_from - last < ACTIVATION_MIN ||
	       ((end == WIRE_stack_end_STACK_ABSENT || end == WIRE_stack_end_TRUNCATED) &&
		frames_from - start < unwinding->sample->stack.size);
}

static void remove_first_segment(struct script_stack *stack)
{
	size_t n = stack->segments[0].n;

	stack->n -= n;
	memmove(stack->places, stack->places + n, stack->n * sizeof(*stack->places));
	stack->n_segments--;
	memmove(stack->segments, stack->segments + 1, stack->n_segments * sizeof(*stack->segments));
}

/* Forgets segments that may not be executed, if there are too few activations for them. */
static void remove_unsure(struct script_stack *stack, const struct activations *activations)
{
	if (activations->n < stack->n_segments)
		for (; stack->n_unsure; stack->n_unsure--)
			remove_first_segment(stack);
}

/*
 * Removes the innermost frame of the script while C still prepares it: C would seem to be called by
 * it. If it is the only one of its segment, that has no activation yet. Made code does not say how
 * far it is.
 */
static void remove_unstarted(struct script_stack *stack, const struct activations *activations)
{
	struct script_segment *first = &stack->segments[0];

	if (!first->is_unstarted ||
	    script_loop_has(activations->loop, &activations->unwinding->frames[0]))
		return;
	if (first->n == 1
		    ? activations->n + 1 != stack->n_segments
		    : activations->n && is_made(activations->unwinding, activations->frames[0]))
		return;
	stack->n--;
	memmove(stack->places, stack->places + 1, stack->n * sizeof(*stack->places));
	first->anchor = first->others[1];
	first->is_unstarted = false;
	if (!--first->n)
		remove_first_segment(stack);
}

/* How many segments may be part of the next one. */
static size_t count_parts(const struct script_stack *stack)
{
	size_t n = 0;

	for (size_t i = 0; i < stack->n_segments; i++)
		n += stack->segments[i].may_be_part;
	return n;
}

/* Makes all segments that may be part of the next one part of it. */
static void join_parts(struct script_stack *stack)
{
	size_t n = 0;
	uint32_t n_before = 0; /* frames of those that are part of the next one */

	for (size_t i = 0; i < stack->n_segments; i++) {
		struct script_segment segment = stack->segments[i];

		segment.n += n_before;
		n_before = segment.may_be_part ? segment.n : 0;
		if (!segment.may_be_part)
			stack->segments[n++] = segment;
	}
	stack->n_segments = n;
}

/*
 * Forgets the segments that have no activation, so that each has one, but the innermost may not.
 * If some may be part of the next one, all are or none is; if only one could be right, nobody knows
 * which: then false is returned.
 */
static bool fit_segments(struct script_stack *stack, const struct activations *activations)
{
	size_t n_parts = count_parts(stack), n_idle;

	if (stack->n_segments &&
	    (!activations->n || !is_called_from(activations->unwinding, activations->outermost,
						stack->main_from, stack->main_to)))
		stack->n -= stack->segments[--stack->n_segments].n;
	n_idle = stack->n_segments && stack->segments[0].may_be_idle &&
		 !stack->segments[0].may_be_part;
	if (n_parts && stack->n_segments == activations->n + n_parts && n_parts == n_idle)
		return false;
	if (n_parts && stack->n_segments >= activations->n + n_parts)
		join_parts(stack);
	if (stack->n_segments == activations->n + 1 && stack->segments[0].may_be_idle)
		remove_first_segment(stack);
	return true;
}

/*
 * Of activations that cannot be told apart each has a segment. Only the innermost one may be
 * without: before it finds what it calls, and as it ends.
 */
static enum script_outcome find_counted(struct script_stack *stack,
					const struct activations *activations,
					size_t frames[SCRIPT_FRAMES_MAX])
{
	size_t without;

	if (!fit_segments(stack, activations))
		return SCRIPT_UNPLACED;
	if (!stack->n_segments)
		return SCRIPT_NO_FRAMES;
	if (activations->n < stack->n_segments)
		return SCRIPT_UNPLACED;
	without = activations->n - stack->n_segments;
	if (without > 1)
		return SCRIPT_UNPLACED;
	for (size_t i = 0; i < stack->n_segments; i++) {
		uint64_t anchor = stack->segments[i].anchor;

		if (anchor && !holds(activations, i + without, anchor))
			return SCRIPT_UNPLACED;
		frames[i] = activations->frames[i + without];
	}
	return SCRIPT_WHOLE;
}

/* Made code may note where it is only when it calls what may ask for it: then nobody knows. */
static void forget_line(struct script_stack *stack, const struct activations *activations)
{
	if (is_made(activations->unwinding, activations->frames[0]))
		stack->places[0] |= SCRIPT_INSTRUCTION_UNKNOWN;
}

enum script_outcome script_activations_find(struct script_stack *stack,
					    const struct script_loop *loop,
					    const struct unwinding *unwinding,
					    size_t frames[SCRIPT_FRAMES_MAX])
{
	struct activations activations = { .unwinding = unwinding,
					   .loop = loop,
					   .saved = stack->saved };
	size_t without;

	if (!has_all_activations(unwinding, stack->frames_from))
		return SCRIPT_CUT;
	if (!list_activations(&activations, stack))
		return SCRIPT_UNPLACED;
	if (stack->anchoring == SCRIPT_ANCHOR_COUNTED)
		return find_counted(stack, &activations, frames);
	remove_unsure(stack, &activations);
	remove_unstarted(stack, &activations);
	if (activations.n < stack->n_segments || !stack->n_segments)
		return SCRIPT_UNPLACED;
	without = activations.n - stack->n_segments;
	if (without > 1 || (without && !may_be_without(&activations, stack->segments[0].anchor)))
		return SCRIPT_UNPLACED;
	for (size_t i = 0; i < stack->n_segments; i++) {
		if (!is_of(&activations, i + without, stack, &stack->segments[i]))
			return SCRIPT_UNPLACED;
		frames[i] = activations.frames[i + without];
	}
	if (!without)
		forget_line(stack, &activations);
	return SCRIPT_WHOLE;
}
