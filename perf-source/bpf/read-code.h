/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the code that an element of a walk executes (struct walk_code), and reads the object that
 * describes it, with its members.
 */
#pragma once

#include "perf-source/bpf/read-object.h"

enum {
	WALK_KINDS = 15,
	WALK_STEPS_ALL = 4096, /* of all searches of a sample, each of a read */
	WALK_MADE = 64,	       /* bytes of code, after which it has a frame until it ends */
};

/* Where the object is that describes code which begins at an address, if there is such code. */
static __always_inline uint64_t walk_object_of(const struct walk_code *code, uint64_t start)
{
	if (code->within)
		return start - code->within;
	return walk_read_pointer(start - code->head) & code->object.pointer_mask;
}

/* Whether what an object's first word leads to has the type of objects that code is part of. */
static __always_inline bool walk_has_code_within(const struct walk_code *code, uint64_t object)
{
	uint64_t of = walk_read_pointer(object);
	uint16_t type = 0;

	return of && !(of >> WALK_USER_BITS) &&
	       !bpf_probe_read_user(
		       &type, sizeof(type),
		       (const void *)((of & code->object.pointer_mask) + code->within_type_at)) &&
	       type == code->within_type;
}

/* The object that describes code which begins at an address; 0: none does. */
static __always_inline uint64_t walk_code_at(const struct walk_code *code, uint64_t start)
{
	uint64_t at = walk_object_of(code, start);

	if (!at || at >> WALK_USER_BITS)
		return 0;
	if (code->within)
		return walk_has_code_within(code, at) ? at : 0;
	return walk_read_pointer(at + code->start) == start ? at : 0;
}

/* A step of a search for the begin of code. 1: it is over. */
static __always_inline long walk_step_back(struct walk *walk)
{
	const struct walk_code *code = &walk->program->code;
	struct walk_search *search = &walk->work->search;

	search->object = walk_code_at(code, search->at);
	if (search->object)
		return 1;
	search->at -= code->step;
	return 0;
}

/* What is known of a block without code: an odd number, which counts how often it was asked for. */
static __always_inline uint64_t walk_no_code(uint64_t instruction)
{
	return instruction >> WALK_BLOCK << 16 | 1;
}

/*
 * Whether it is known that an instruction is in no code. That may change, so it is searched for
 * again, ever less often: at each power of two.
 */
static __always_inline bool walk_is_in_none(uint64_t *known, uint64_t instruction)
{
	uint64_t n;

	if (*known >> 16 != instruction >> WALK_BLOCK || !(*known & 1))
		return false;
	*known += 2;
	n = *known >> 1 & (UINT16_MAX >> 1);
	return n & (n - 1);
}

/* Whether the object in `memory` is of code that begins at an address, and has an instruction. */
static __always_inline bool walk_describes(const struct walk_code *code,
					   const struct walk_memory *memory, uint64_t begin,
					   uint64_t instruction)
{
	uint64_t start = code->start, size = code->size;

	barrier_var(start);
	barrier_var(size);
	return start <= WALK_OBJECT_MAX - 8 && size <= WALK_OBJECT_MAX - 4 &&
	       (code->within || *(const uint64_t *)(memory->bytes + start) == begin) &&
	       instruction - 1 - begin < *(const uint32_t *)(memory->bytes + size);
}

/*
 * Reads the object that describes the code that was found, if that has the instruction. Returns
 * its identity; 0: it does not.
 */
static __noinline uint64_t walk_identify_code(struct walk *walk)
{
	const struct walk_code *code = &walk->program->code;
	const struct walk_search *search = &walk->work->search;
	struct walk_memory *memory = &walk->work->of_code;
	uint64_t identity =
		search->object ? walk_find_identity(&code->object, memory, search->object) : 0;

	return identity && walk_describes(code, memory, search->at, search->instruction) ? identity
											 : 0;
}

/* Finds the code that has an instruction. Returns the identity of its object; 0: it has none. */
static __always_inline uint64_t walk_find_code(struct walk *walk,
					       long (*step)(uint32_t i, void *walk), void *codes)
{
	const struct walk_code *code = &walk->program->code;
	struct walk_state *state = &walk->work->state;
	struct walk_search *search = &walk->work->search;
	uint64_t instruction = search->instruction, identity;
	uint32_t key = walk_mix(walk->work->registers.pid, instruction >> WALK_BLOCK) >> 32 &
		       (WALK_CODES - 1);
	uint64_t *known = bpf_map_lookup_elem(codes, &key);

	if (!code->step || !known || walk_is_in_none(known, instruction))
		return 0;
	search->at = *known;
	if (search->at <= instruction && instruction - search->at < code->steps * code->step)
		search->object = walk_object_of(code, search->at);
	identity = walk_identify_code(walk);
	if (identity)
		return identity;
	if (state->n_steps >= WALK_STEPS_ALL)
		return 0;
	search->object = 0;
	search->at = instruction - instruction % code->step;
	state->n_steps += bpf_loop(code->steps, step, walk, 0);
	identity = walk_identify_code(walk);
	if (identity)
		*known = search->at;
	else if (*known >> 16 != instruction >> WALK_BLOCK)
		*known = walk_no_code(instruction);
	return identity;
}

/* Reads the next member of a code's object. 1: there are no more. */
static __always_inline long walk_read_member(struct walk *walk, const struct walk_maps *maps)
{
	const struct walk_code *code = &walk->program->code;
	uint64_t n = walk->work->members[0], of = code->members_of, at;

	barrier_var(n);
	barrier_var(of);
	if (n >= WALK_MEMBERS_MAX || of > WALK_TEXTS_MAX)
		return 1;
	at = walk_read_pointer(walk->work->of_code.at[of] + code->members + n * 8) &
	     code->object.pointer_mask;
	walk->work->members[1 + n] = walk_read_object(walk, maps, &walk->program->object, at);
	walk->work->members[0] = n + 1;
	return 0;
}

static __always_inline bool walk_has_members(const struct walk_code *code,
					     const struct walk_memory *memory)
{
	uint64_t at = code->kind;

	barrier_var(at);
	return at < WALK_OBJECT_MAX &&
	       code->has_members >> (*(const uint8_t *)(memory->bytes + at) & WALK_KINDS) & 1;
}

/* How many members a code's object has, whose texts have been read. */
static __always_inline uint32_t walk_count_members(struct walk *walk)
{
	const struct walk_code *code = &walk->program->code;
	uint64_t of = code->count_of, at;
	uint32_t n = 0;

	barrier_var(of);
	at = of > WALK_TEXTS_MAX ? 0 : walk->work->of_code.at[of];
	if (!at || !walk_has_members(code, &walk->work->of_code) ||
	    bpf_probe_read_user(&n, sizeof(n), (const void *)(at + code->count + 4)))
		return 0;
	return n < WALK_MEMBERS_MAX ? n : WALK_MEMBERS_MAX;
}

/* Puts the identities of members behind an object of `used` bytes, as another text. */
static __always_inline uint64_t walk_put_members(struct walk_work *work, uint64_t used)
{
	barrier_var(used);
	if (used > WALK_MEMORY_MAX - sizeof(work->members))
		return used;
	for (uint32_t i = 1; i <= WALK_MEMBERS_MAX; i++)
		*(uint64_t *)(work->of_code.bytes + used + i * 8) = work->members[i];
	*(uint64_t *)(work->of_code.bytes + used) = work->members[0] * 8;
	return used + 8 + work->members[0] * 8;
}

/*
 * Emits an object of code, which is new: once all of its members are. The identities of members
 * come last, as those are found again by them.
 */
static __always_inline long walk_emit_code(struct walk *walk, const struct walk_maps *maps,
					   long (*read)(uint32_t i, void *walk), uint64_t identity)
{
	struct walk_work *work = walk->work;

	work->search.used =
		walk_read_all(&walk->program->code.object, &work->of_code, work->search.object);
	work->search.n_left = work->state.n_left;
	work->members[0] = 0;
	bpf_loop(walk_count_members(walk), read, walk, 0);
	if (work->state.is_lost || work->state.n_left != work->search.n_left ||
	    !walk_has_room(&work->state))
		return -EAGAIN;
	return walk_emit(walk, &work->of_code, maps->parts, work->search.object, identity,
			 walk_put_members(work, work->search.used));
}

/* Puts the address and the identity of code behind the instruction, at `to`, that is in it. */
static __always_inline void walk_put_code(struct walk *walk, const struct walk_maps *maps,
					  long (*step)(uint32_t i, void *walk),
					  long (*read)(uint32_t i, void *walk), uint64_t *to)
{
	struct walk_search *search = &walk->work->search;
	uint64_t identity;

	*search = (struct walk_search){ .instruction = to[0] };
	identity = walk_find_code(walk, step, maps->codes);
	if (!identity)
		return;
	walk->work->state.is_made = to[0] - search->at >= WALK_MADE;
	to[1] = search->object;
	to[2] = identity;
	if (!walk_is_emitted(walk, search->object, identity))
		walk_note(walk, search->object, identity,
			  walk_emit_code(walk, maps, read, identity));
}

/* Whether an element's code is to be looked for. */
static __always_inline bool walk_wants_code(const struct walk *walk,
					    const struct walk_element *element,
					    uint64_t instruction)
{
	const struct walk_code *code = &walk->program->code;
	const struct walk_state *state = &walk->work->state;
	bool is_again = element->address == state->address;

	return element->identity && instruction && !(is_again && state->is_made) &&
	       !(instruction >= code->outside_from && instruction < code->outside_to);
}

/*
 * Finds the code of the next element, once all of them have been read: in their loop each way
 * through this would be one more for each way through that. 1: there are no more.
 */
static __always_inline long walk_read_code(struct walk *walk, const struct walk_maps *maps,
					   long (*step)(uint32_t i, void *walk),
					   long (*read)(uint32_t i, void *walk))
{
	struct walk_state *state = &walk->work->state;
	uint64_t place = state->place, window = state->window;
	struct walk_element *element;
	uint64_t *to;

	barrier_var(place);
	barrier_var(window);
	if (place > SAMPLE_PART_MAX - sizeof(*element) - WALK_WINDOW_MAX - WALK_WORD_SIZE -
			    WALK_CODE_SIZE ||
	    window > WALK_WINDOW_MAX + WALK_WORD_SIZE + WALK_CODE_SIZE)
		return 1;
	/* clang 19 makes one comparison of both, which Linux 6.12 and 6.19 do not follow. */
	barrier_var(window);
	if (window < WALK_CODE_SIZE)
		return 1;
	element = (void *)(walk->bytes + place);
	to = (void *)(walk->bytes + place + sizeof(*element) + window - WALK_CODE_SIZE);
	if (walk_wants_code(walk, element, to[0]))
		walk_put_code(walk, maps, step, read, to);
	state->address = element->address;
	state->place = place + sizeof(*element) + window;
	return state->is_lost ? 1 : 0;
}
