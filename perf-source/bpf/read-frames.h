/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks along frames of made code (struct walk_frames): first who has called whom, then what each
 * of them executes.
 */
#pragma once

#include "perf-source/bpf/read-callers.h"
#include "perf-source/bpf/read-made.h"

/* Where the frames begin: where user space was interrupted, or where code has called other code. */
static __always_inline void walk_begin_calls(struct walk *walk)
{
	const struct walk_frames *frames = &walk->program->frames;
	const struct walk_registers *registers = &walk->work->registers;
	struct walk_state *state = &walk->work->state;
	uint64_t at;

	if (walk_find_heap(frames, registers->instruction)) {
		state->instruction = registers->instruction;
		state->frame = registers->frame;
		state->address = walk->work->memory.part.sp;
		state->is_again = true;
		return;
	}
	at = walk_find_root(&walk->program->lists[0].roots[0], registers->thread, registers->frame);
	if (at)
		walk_take_noted(frames, state, at);
}

/* Walks along all frames. */
static __always_inline void walk_run_frames(struct walk *walk,
					    const struct walk_callbacks *callbacks)
{
	struct walk_state *state = &walk->work->state;
	uint64_t at = state->used;

	state->number = state->n = 0;
	state->window = sizeof(struct walk_call) + WALK_CODE_SIZE;
	state->end = WIRE_walk_end_NO_ROOT;
	state->used += sizeof(struct walk_list_head);
	state->place = state->used;
	state->is_again = state->is_behind_stub = state->address = 0;
	walk_begin_calls(walk);
	if (state->address)
		bpf_loop(WALK_ELEMENTS_MAX + 1, callbacks->frame, walk, 0);
	walk_read_all_made(walk, callbacks);
	walk_end_list(walk, at);
}
