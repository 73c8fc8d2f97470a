/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits the texts that objects of a walk were made of (struct walk_source), in parts: as many as
 * have room. The thread's next samples go on with it. Only its own: while it stands still, nobody
 * moves what it executes.
 */
#pragma once

#include "perf-source/bpf/read-object.h"

enum {
	WALK_SOURCE_PARTS_MAX = 4096, /* a longer text is not emitted */
	WALK_SOURCE_STEPS = WALK_SOURCE_PARTS_MAX + 4 * WALK_AWAITED_MAX,
	WALK_STRINGS_MAX = 3, /* that lead to each other */
};

/* Where the characters of a string are; 0: in no string that is known. */
__noinline uint64_t walk_find_characters(const struct walk_source *source,
					 struct walk_found_source *found, uint64_t string)
{
	uint32_t length, first = 0;
	uint64_t map;
	uint16_t type, kind;

	if (!source || !found)
		return 0;
	for (uint32_t i = 0; i < WALK_STRINGS_MAX; i++) {
		barrier_var(i); /* Linux 6.1 refuses loops that end without a jump */
		type = 0;
		map = walk_read_pointer(string) & source->pointer_mask;
		bpf_probe_read_user(&type, sizeof(type), (const void *)(map + source->type_at));
		length = walk_string_length(source, string);
		first = i ? first : length;
		/* What is made of two strings is one of them if the other is empty. */
		if (!length || length != first)
			return 0;
		kind = type & source->kinds;
		found->unit = type & source->narrow ? 1 : 2;
		found->size = length * found->unit;
		if (kind == source->inside)
			return string + source->inside_at;
		if (kind == source->outside)
			return walk_read_pointer(string + source->outside_at);
		if (kind != source->others[0] && kind != source->others[1])
			return 0;
		string = walk_read_pointer(string + source->other_at) & source->pointer_mask;
	}
	return 0;
}

/* Emits the part that begins at the offset. 0 or -errno; -EFAULT: it is not in memory. */
static __always_inline long walk_emit_source_part(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_memory *memory = &walk->work->of_code;
	const struct walk_found_source *found = &walk->work->source;
	struct walk_source_part *part = (void *)memory->bytes;
	uint64_t size = found->size - found->offset;

	*part = (struct walk_source_part){ found->offset, found->size, found->unit, 0 };
	size = size < WALK_CHUNK_SIZE ? size : WALK_CHUNK_SIZE;
	barrier_var(size);
	if (size > WALK_CHUNK_SIZE ||
	    bpf_probe_read_user(memory->bytes + sizeof(*part), size,
				(const void *)(found->text + found->offset)))
		return -EFAULT;
	return walk_emit(walk, memory, maps->parts, found->what.owner + 1, found->what.identity,
			 sizeof(*part) + size);
}

/* Goes to the next text. */
static __always_inline void walk_leave_source(struct walk *walk)
{
	struct walk_found_source *found = &walk->work->source;
	struct walk_awaited *awaited =
		&walk->program->awaited[found->place & (WALK_AWAITED_MAX - 1)];

	if (awaited->identity == found->what.identity)
		awaited->owner = 0;
	found->text = 0;
	found->place++;
}

/*
 * Finds a text, unless it was emitted. What has it may be gone, or be moved as we see it: then the
 * next new object of it has it noted again.
 */
static __always_inline void walk_begin_source(struct walk *walk)
{
	const struct walk_source *source = &walk->program->object.source;
	struct walk_found_source *found = &walk->work->source;

	found->what = walk->program->awaited[found->place & (WALK_AWAITED_MAX - 1)];
	if (!found->what.owner || found->what.thread != (uint32_t)bpf_get_current_pid_tgid()) {
		found->is_left |= found->what.owner != 0;
		found->place++;
		return;
	}
	found->offset = 0;
	if (!walk_is_emitted(walk, found->what.owner, found->what.identity) &&
	    walk_source_identity(source, found->what.owner) == found->what.identity)
		found->text =
			walk_find_characters(source, found,
					     walk_read_pointer(found->what.owner + source->string) &
						     source->pointer_mask);
	if (!found->text || found->size > WALK_SOURCE_PARTS_MAX * WALK_CHUNK_SIZE)
		walk_leave_source(walk);
}

/* Notes that a text was emitted. */
static __always_inline void walk_end_source(struct walk *walk)
{
	const struct walk_awaited *what = &walk->work->source.what;

	walk_note_emitted(walk, what->owner, what->identity);
	walk_leave_source(walk);
}

/* Emits a part. 0 or -errno: the next sample is to try again; -EFAULT: the next new object is. */
static __always_inline long walk_put_source_part(struct walk *walk, const struct walk_maps *maps)
{
	const struct walk_found_source *found = &walk->work->source;
	uint64_t at = found->what.owner + 1 + found->offset;
	long r;

	if (walk_is_emitted(walk, at, found->what.identity))
		return 0;
	if (!walk_has_room(&walk->work->state))
		return -EAGAIN;
	r = walk_emit_source_part(walk, maps);
	if (r == 0)
		walk_note_emitted(walk, at, found->what.identity);
	return r;
}

/*
 * Emits the next part of a text, unless it was. 1: there are no more texts, or they have no room.
 */
static __always_inline long walk_emit_source(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_found_source *found = &walk->work->source;
	long r;

	if (found->place >= WALK_AWAITED_MAX)
		return 1;
	if (!found->text) {
		walk_begin_source(walk);
		return 0;
	}
	if (found->offset >= found->size) {
		walk_end_source(walk);
		return 0;
	}
	r = walk_put_source_part(walk, maps);
	if (r == -EFAULT)
		walk_leave_source(walk);
	found->offset += WALK_CHUNK_SIZE;
	return r && r != -EFAULT;
}

/* Emits what is awaited of the thread. */
static __always_inline void walk_emit_sources(struct walk *walk,
					      const struct walk_callbacks *callbacks)
{
	struct walk_found_source *found = &walk->work->source;

	if (!walk->program->is_awaiting)
		return;
	*found = (struct walk_found_source){ 0 };
	walk->program->is_awaiting = false;
	bpf_loop(WALK_SOURCE_STEPS, callbacks->source, walk, 0);
	if (found->place < WALK_AWAITED_MAX || found->is_left)
		walk->program->is_awaiting = true;
}
