/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/script-activations.h"

enum {
	WORD = 8,
	SAVED = 7 * WORD,     /* the return address, and the registers that a function preserves */
	SEARCHED_MAX = 65536, /* bytes of the stack in which an address is looked for */
};

struct activations {
	const struct unwinding *unwinding;
	const struct cpython_fields *fields;
	size_t frames[SCRIPT_FRAMES_MAX + 1];
	size_t n;
};

static bool is_in_loop(const struct cpython_fields *fields, const struct wire_frame *frame)
{
	int64_t code = frame->address - !(frame->flags & WIRE_frame_flags_EXACT);

	return (code >= fields->loop_from && code < fields->loop_to) ||
	       (code >= fields->loop_other_from && code < fields->loop_other_to);
}

/* False: there are too many. */
static bool list_activations(struct activations *activations)
{
	const struct unwinding *unwinding = activations->unwinding;

	/* The last frame's end is not known; it is of the C library, or of the thread's begin. */
	for (size_t i = 0; i + 1 < unwinding->n_frames; i++) {
		if (!is_in_loop(activations->fields, &unwinding->frames[i]))
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

/* Whether the i-th activation holds a value. */
static bool holds(const struct activations *activations, size_t i, uint64_t value)
{
	const uint64_t *pointers = activations->unwinding->stack_pointers;
	uint64_t low = pointers[0], high = pointers[activations->frames[i] + 1];

	if (i) /* the next inner one has saved its caller's registers */
		low = pointers[activations->frames[i - 1] + 1] - SAVED;
	if (high <= low)
		return false;
	/* The innermost ones' registers may not be saved anywhere. */
	return (i < 2 && is_in_registers(activations->unwinding, value)) ||
	       is_on_stack(activations->unwinding, low, high, value);
}

/*
 * Whether the innermost activation may be without a frame: it enters or leaves a function, and does
 * not hold the address of the frame that is said to be the innermost, which would then be its own.
 */
static bool may_be_without(const struct activations *activations, uint64_t innermost)
{
	const uint64_t *pointers = activations->unwinding->stack_pointers;

	return activations->frames[0] == 0 && !is_in_registers(activations->unwinding, innermost) &&
	       (pointers[1] - pointers[0] <= SAVED ||
		!is_on_stack(activations->unwinding, pointers[0], pointers[1] - SAVED, innermost));
}

enum script_outcome script_activations_find(const struct script_stack *stack,
					    const struct cpython_fields *fields,
					    const struct unwinding *unwinding,
					    size_t frames[SCRIPT_FRAMES_MAX])
{
	struct activations activations = { .unwinding = unwinding, .fields = fields };
	size_t without;

	if (unwinding->end != WIRE_stack_end_COMPLETE)
		return SCRIPT_CUT;
	if (!list_activations(&activations) || activations.n < stack->n_segments)
		return SCRIPT_UNPLACED;
	without = activations.n - stack->n_segments;
	if (without > 1 || (without && !may_be_without(&activations, stack->segments[0].anchor)))
		return SCRIPT_UNPLACED;
	for (size_t i = 0; i < stack->n_segments; i++) {
		if (!holds(&activations, i + without, stack->segments[i].anchor))
			return SCRIPT_UNPLACED;
		frames[i] = activations.frames[i + without];
	}
	return SCRIPT_WHOLE;
}
