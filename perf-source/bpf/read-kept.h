/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the stack of a thread keeps (struct walk_kept). */
#pragma once

#include "perf-source/bpf/read-root.h"

/* The object that is known by what all of them share. */
static __always_inline uint64_t walk_known_of(const struct walk_kept *kept, uint64_t shared)
{
	return kept->is_within ? shared + kept->one_at : walk_read_pointer(shared + kept->one_at);
}

/* What objects share, of which one is at an address; 0: there is none. */
static __always_inline uint64_t walk_find_shared(const struct walk_kept *kept, uint64_t at)
{
	uint64_t shared, one;

	if (at % 8 || at < WALK_PAGE || at >> WALK_USER_BITS ||
	    (walk_read_pointer(at + kept->type_at) & kept->type_mask) != kept->type)
		return 0;
	shared = walk_read_pointer(at + kept->shared_at);
	one = shared ? walk_known_of(kept, shared) : 0;
	return one && walk_read_pointer(one + kept->shared_at) == shared ? shared : 0;
}

/* 1: it is the last one, or there are enough. */
static __always_inline long walk_keep(struct walk *walk, uint64_t at, uint64_t shared)
{
	struct walk_state *state = &walk->work->state;

	state->kept[state->n_kept++ % WALK_LISTS_MAX] = at;
	return state->n_kept == WALK_LISTS_MAX || at == walk_known_of(&walk->program->kept, shared);
}

/* Goes on to the next outer frame of an object, or behind its outermost one to the next object. */
static __always_inline long walk_follow_kept(struct walk *walk)
{
	const struct walk_kept *kept = &walk->program->kept;
	struct walk_state *state = &walk->work->state;
	uint64_t frame = state->frame, outer = walk_read_pointer(frame + kept->frame_previous),
		 owner, shared;

	outer &= ~3ULL;
	state->frame = outer ? outer : frame + kept->frame_size;
	if (state->frame <= frame)
		return 1;
	if (outer)
		return 0;
	owner = walk_read_pointer(state->frame + kept->frame_owner);
	shared = walk_find_shared(kept, owner);
	return shared != walk_read_pointer(state->kept[0] + kept->shared_at) ||
	       walk_keep(walk, owner, shared);
}

/* Begins with the object that counts. */
static __always_inline long walk_begin_kept(struct walk *walk, uint64_t shared)
{
	const struct walk_kept *kept = &walk->program->kept;
	uint64_t current = walk_read_pointer(shared + kept->current_at);

	if (walk_find_shared(kept, current) != shared)
		return 1;
	walk->work->state.frame = walk_read_pointer(current + kept->frame_at) & ~3ULL;
	return walk_keep(walk, current, shared) || !walk->work->state.frame;
}

/* Whether a word of the stack is the address of what the stack keeps. 1: there are enough. */
static __always_inline long walk_look_for_kept(struct walk *walk, uint32_t i)
{
	const struct walk_kept *kept = &walk->program->kept;
	struct walk_state *state = &walk->work->state;
	uint64_t sp = walk->work->memory.part.sp, at, shared;

	if (kept->frame_size && state->n_kept)
		return walk_follow_kept(walk);
	at = walk_read_pointer(sp + i * sizeof(sp));
	for (uint32_t k = 0; k < WALK_LISTS_MAX; k++)
		if (at == state->kept[k])
			return 0;
	shared = at - sp < WALK_STACK ? 0 : walk_find_shared(kept, at);
	if (!shared)
		return 0;
	return kept->frame_size ? walk_begin_kept(walk, shared) : walk_keep(walk, at, shared);
}
