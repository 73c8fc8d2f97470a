/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What made code is: its identity for each frame, and, once it is new, what it was made of and what
 * belongs to its object, in pieces (struct walk_frames).
 */
#pragma once

#include "perf-source/bpf/read-object.h"

enum {
	WALK_CHUNKS_MAX = 24,	 /* of each part of what belongs to code, */
	WALK_CHUNKS_ALL = 40,	 /* and of all: code with more has none */
	WALK_CALLEE_SIZE = 16,	 /* address and identity */
	WALK_CALLEES_ALL = 2048, /* whose identities are found for one sample */
	WALK_PIECES_MAX = 2 + WALK_RANGES + WALK_CHUNKS_ALL,
	WALK_FOUND_MAX = 4, /* new code that is emitted with one sample */
	WALK_STEPS_OF_NEW = 2 + WALK_CALLEES_MAX + WALK_PIECES_MAX, /* of each of these */
};

/* What is done next: a frame is looked at, or a callee or a piece of new code is emitted. */
enum walk_made_step { WALK_MADE_FRAME, WALK_MADE_CALLEE, WALK_MADE_PIECE };

static __always_inline void walk_begin_step(struct walk_made *made, enum walk_made_step step)
{
	made->step = step;
	made->turn = 0;
}

/* Emits the object at an address, if it is one as those of elements, and notes its identity. */
static __always_inline void walk_put_callee(struct walk *walk, const struct walk_maps *maps,
					    uint64_t address)
{
	struct walk_work *work = walk->work;
	uint64_t n = work->made.n, *to;

	barrier_var(n);
	if (n >= WALK_CALLEES_MAX || !address ||
	    !walk_has_type(&walk->program->object, walk_read_pointer(address)))
		return;
	if (work->state.n_steps++ >= WALK_CALLEES_ALL) {
		work->state.n_left++;
		return;
	}
	to = (void *)(work->of_code.bytes + n * WALK_CALLEE_SIZE);
	to[0] = address;
	to[1] = walk_read_object(walk, maps, &walk->program->object, address);
	work->made.n = n + 1;
}

static __always_inline void walk_begin_range(struct walk *walk, const struct walk_site range[2])
{
	struct walk_made *made = &walk->work->made;

	made->from = walk_find_site(&range[0], made->object);
	made->to = walk_find_site(&range[1], made->object);
}

/*
 * Emits another object of what code was made of: first its own one, then those of the pointers of
 * what it may have inlined. 1: there are no more, or they have no room.
 */
static __always_inline long walk_read_callee(struct walk *walk, const struct walk_maps *maps,
					     uint32_t i)
{
	const struct walk_frames *frames = &walk->program->frames;
	struct walk_work *work = walk->work;
	struct walk_made *made = &work->made;
	uint64_t at = made->object + frames->own;

	if (i == 0) {
		walk_begin_range(walk, frames->callees);
		made->n = 0;
	} else {
		if (made->from >= made->to || made->n >= WALK_CALLEES_MAX)
			return 1;
		at = made->from;
		made->from += sizeof(at);
	}
	walk_put_callee(walk, maps, walk_read_pointer(at));
	return work->state.is_lost || work->state.n_left ? 1 : 0;
}

/* Emits the identities of what code was made of. 0 or -errno. */
static __always_inline long walk_emit_callees(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_work *work = walk->work;
	uint64_t at = walk_find_site(&walk->program->frames.callees[0], work->made.object),
		 size = work->made.n * WALK_CALLEE_SIZE;

	barrier_var(size);
	if (!at || size > WALK_MEMORY_MAX)
		return -EAGAIN;
	return walk_emit(walk, &work->of_code, maps->parts, at + 1, work->made.identity, size);
}

/* How many chunks the ranges of code are; 0: none, or too many. */
static __always_inline uint64_t walk_count_chunks(struct walk *walk)
{
	const struct walk_made *made = &walk->work->made;
	uint64_t n = 0;

	for (uint32_t i = 0; i < WALK_RANGES; i++) {
		barrier_var(i); /* Linux 6.1 refuses loops that end without a jump */
		if (i >= WALK_RANGES)
			break;
		walk_begin_range(walk, walk->program->frames.ranges[i]);
		if (made->to - made->from > WALK_CHUNKS_MAX * WALK_CHUNK_SIZE)
			return 0;
		n += (made->to - made->from + WALK_CHUNK_SIZE - 1) / WALK_CHUNK_SIZE;
	}
	return n < WALK_CHUNKS_ALL ? n : 0;
}

/* Whether so many chunks, and records of callees and of the object, may be emitted. */
static __always_inline bool walk_has_room_for(const struct walk_state *state, uint64_t n)
{
	uint64_t chunk = read_record_size(sizeof(uint64_t) + WALK_MEMORY_MAX);

	return state->n_new + n + 2 < WALK_NEW_MAX &&
	       state->n_emitted + (n + 2) * chunk <= state->room;
}

/* Begins to emit what belongs to code, whose callees are emitted. 0 or -errno. */
static __always_inline long walk_begin_pieces(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_work *work = walk->work;
	struct walk_made *made = &work->made;
	uint64_t n_chunks = walk_count_chunks(walk);

	if (work->state.n_left || !walk_has_room_for(&work->state, n_chunks))
		return -EAGAIN;
	made->range = n_chunks ? 0 : WALK_RANGES;
	made->from = made->to = 0;
	return walk_emit_callees(walk, maps);
}

/* Emits the next bytes of the range. 0 or -errno. */
static __always_inline long walk_emit_chunk(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_work *work = walk->work;
	struct walk_made *made = &work->made;
	uint64_t from = made->from, size = made->to - from;

	size = size < WALK_CHUNK_SIZE ? size : WALK_CHUNK_SIZE;
	made->from += size;
	barrier_var(size);
	/* What is not in memory stays unknown. */
	if (size > WALK_CHUNK_SIZE ||
	    bpf_probe_read_user(work->of_code.bytes, size, (const void *)from))
		return 0;
	return walk_emit(walk, &work->of_code, maps->parts, from, made->identity, size);
}

/* Emits the object of code. 0 or -errno. */
static __always_inline long walk_emit_object(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_work *work = walk->work;
	uint64_t size = walk->program->code.object.size;

	barrier_var(size);
	if (size > WALK_OBJECT_MAX ||
	    bpf_probe_read_user(work->of_code.bytes, size, (const void *)work->made.object))
		return -EAGAIN;
	return walk_emit(walk, &work->of_code, maps->parts, work->made.object, work->made.identity,
			 size);
}

/* Notes that code was emitted, or what became of it. 1. */
static __always_inline long walk_end_pieces(struct walk *walk, long r)
{
	const struct walk_made *made = &walk->work->made;

	walk_note(walk, made->object, made->identity, r);
	return 1;
}

/*
 * Emits the next piece of what belongs to code, and the object at the end: who finds it finds all.
 * 1: that was all, or it has no room.
 */
static __always_inline long walk_emit_piece(struct walk *walk, const struct walk_maps *maps,
					    uint32_t i)
{
	struct walk_made *made = &walk->work->made;
	uint64_t range = made->range;
	long r;

	if (i == 0)
		r = walk_begin_pieces(walk, maps);
	else if (made->from < made->to)
		r = walk_emit_chunk(walk, maps);
	else if (range < WALK_RANGES) {
		walk_begin_range(walk, walk->program->frames.ranges[range]);
		made->range = range + 1;
		r = 0;
	} else {
		return walk_end_pieces(walk, walk_emit_object(walk, maps));
	}
	return r ? walk_end_pieces(walk, r) : 0;
}

/*
 * Puts the identity of a frame's code. 1: that is new, and is to be emitted. The next samples go on
 * with what has no room in this one.
 */
static __always_inline long walk_put_made(struct walk *walk, uint64_t *code)
{
	struct walk_state *state = &walk->work->state;
	struct walk_made *made = &walk->work->made;

	made->identity =
		walk_brief_identity(&walk->program->code.object, &walk->work->of_code, code[1]);
	code[2] = made->identity;
	if (!made->identity)
		return 0;
	if (walk_is_emitted(walk, code[1], made->identity))
		return 0;
	if (state->n_left || made->n_found == WALK_FOUND_MAX) {
		state->n_left++;
		return 0;
	}
	made->object = code[1];
	made->n_found++;
	return 1;
}

/*
 * Finds the method or the code of the next frame, once all have been read. 1: there are no more, or
 * it has found new code.
 */
static __always_inline long walk_read_made(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_state *state = &walk->work->state;
	uint64_t place = state->place;
	struct walk_element *element;
	struct walk_call *call;
	uint64_t *code;

	barrier_var(place);
	if (place >= state->used ||
	    place > SAMPLE_PART_MAX - sizeof(*element) - sizeof(*call) - WALK_CODE_SIZE)
		return 1;
	element = (void *)(walk->bytes + place);
	call = (void *)(walk->bytes + place + sizeof(*element));
	code = (void *)(walk->bytes + place + sizeof(*element) + sizeof(*call));
	state->place = place + sizeof(*element) + sizeof(*call) + WALK_CODE_SIZE;
	if (call->kind == WALK_CALL_INTERPRETED) {
		call->what[1] -=
			walk_read_pointer(call->what[0] + walk->program->frames.place_from);
		element->identity =
			walk_read_object(walk, maps, &walk->program->object, call->what[0]);
	}
	if (call->kind == WALK_CALL_COMPILED && walk_put_made(walk, code))
		return 1;
	return state->is_lost ? 1 : 0;
}

/*
 * Takes the next step of finding what all frames execute. New code is emitted before the next frame
 * is looked at. 1: that was all. All steps have one loop: the kernel would verify a loop of loops
 * once for each of them, and Linux 6.1 has too little stack for functions that call each other
 * deeper.
 */
static __always_inline long walk_find_made(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_made *made = &walk->work->made;
	uint64_t turn = made->turn++;

	if (made->step == WALK_MADE_FRAME) {
		if (!walk_read_made(walk, maps))
			return 0;
		walk_begin_step(made, WALK_MADE_CALLEE);
		return !made->object || walk->work->state.is_lost ? 1 : 0;
	}
	if (made->step == WALK_MADE_CALLEE) {
		if (turn > WALK_CALLEES_MAX || walk_read_callee(walk, maps, turn))
			walk_begin_step(made, WALK_MADE_PIECE);
		return 0;
	}
	if (!walk_emit_piece(walk, maps, turn))
		return 0;
	walk_begin_step(made, WALK_MADE_FRAME);
	made->object = 0;
	return walk->work->state.is_lost ? 1 : 0;
}

/* Finds what all frames execute. */
static __always_inline void walk_read_all_made(struct walk *walk,
					       const struct walk_callbacks *callbacks)
{
	struct walk_made *made = &walk->work->made;

	walk_begin_step(made, WALK_MADE_FRAME);
	made->object = made->n_found = 0;
	bpf_loop(WALK_ELEMENTS_MAX + 1 + WALK_FOUND_MAX * WALK_STEPS_OF_NEW, callbacks->made, walk,
		 0);
}
