/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks along frames of made code, which has no frame pointers (struct walk_frames), and emits what
 * belongs to the code that is new.
 */
#pragma once

#include "perf-source/bpf/read-root.h"

enum {
	WALK_BACK_MAX = 64, /* bytes of a heap that are followed to a block's begin */
	WALK_NO_BLOCK = 255,
	WALK_FRAME_WORDS_MAX = 1 << 16,
	WALK_CHUNKS_MAX = 24,	      /* of each part of what belongs to code */
	WALK_INTERPRETED_BEFORE = 64, /* bytes in front of an interpreter's frame pointer: */
	WALK_INTERPRETED_WORDS = 10,
	WALK_INTERPRETED_PLACE = 0, /* where in the method, */
	WALK_INTERPRETED_METHOD = 5,
	WALK_INTERPRETED_SP = 7, /* the stack pointer of what has called it, */
	WALK_INTERPRETED_FP = 8, /* its frame pointer, and where it goes on */
	WALK_INTERPRETED_PC = 9,
	WALK_CALLEE_SIZE = 16, /* address and identity */
};

/* The address of what an object says where it is; 0: it does not. */
static __always_inline uint64_t walk_find_site(const struct walk_site *site, uint64_t object)
{
	uint64_t at = object;
	uint32_t further = 0, offset = 0;

	if (site->pointer != WALK_NOT_THERE)
		at = walk_read_pointer(object + site->pointer);
	if (site->further != WALK_NOT_THERE)
		bpf_probe_read_user(&further, sizeof(further),
				    (const void *)(object + site->further));
	if (site->offset != WALK_NOT_THERE)
		bpf_probe_read_user(&offset, site->offset_size == 2 ? 2 : 4,
				    (const void *)(object + site->offset));
	return at ? at + further + offset : 0;
}

/* The block of a heap that has an address; 0: none has. */
__noinline uint64_t walk_find_block(const struct walk_heap *heap, uint64_t address)
{
	uint64_t segment;
	uint8_t back = 0;

	if (!heap)
		return 0;
	segment = (address - heap->from) >> (heap->shift & 63);
	for (uint32_t i = 0; i < WALK_BACK_MAX; i++) {
		if (bpf_probe_read_user(&back, sizeof(back),
					(const void *)(heap->segments + segment)) ||
		    back == WALK_NO_BLOCK)
			return 0;
		if (!back)
			return heap->from + (segment << (heap->shift & 63));
		segment -= back;
	}
	return 0;
}

static __always_inline const struct walk_heap *walk_find_heap(const struct walk_frames *frames,
							      uint64_t address)
{
	for (uint32_t i = 0; i < WALK_HEAPS_MAX; i++)
		if (address >= frames->heaps[i].from && address < frames->heaps[i].to)
			return &frames->heaps[i];
	return NULL;
}

static __always_inline bool walk_fits(const struct walk_pattern *pattern,
				      const struct walk_call *call, uint32_t in_begin)
{
	return pattern->where && pattern->in_begin == in_begin &&
	       (call->what[0] & pattern->before_mask) == pattern->before &&
	       (call->what[1] & pattern->at_mask) == pattern->at;
}

/* Where the frame is of the code that was interrupted, by the bytes of its instructions. */
__noinline uint32_t walk_find_where(const struct walk_frames *frames, struct walk_call *call,
				    uint64_t object, uint64_t pc)
{
	uint64_t begin, made = 0;
	uint32_t in_begin, where = 0;
	int16_t brief;

	if (!frames || !call ||
	    bpf_probe_read_user(call->what, sizeof(call->what),
				(const void *)(pc - sizeof(call->what[0]))))
		return WALK_WHERE_UNKNOWN;
	begin = walk_find_site(&frames->begin, object);
	if (frames->made_size == sizeof(brief)) {
		bpf_probe_read_user(&brief, sizeof(brief), (const void *)(object + frames->made));
		made = brief;
	} else {
		bpf_probe_read_user(&made, sizeof(uint32_t), (const void *)(object + frames->made));
	}
	if (pc - begin >= INT32_MAX || pc >= walk_find_site(&frames->rare, object))
		return WALK_WHERE_UNKNOWN;
	if (pc <= walk_find_site(&frames->begin_known, object))
		return WALK_WHERE_AT_SP;
	in_begin = pc - begin < made;
	for (uint32_t i = 0; i < WALK_PATTERNS_MAX; i++)
		if (!where && walk_fits(&frames->patterns[i], call, in_begin))
			where = frames->patterns[i].where;
	if (!where && !in_begin)
		where = WALK_WHERE_FRAME;
	return where;
}

/* Finds what has called made code. False: it is not known. */
__noinline int walk_leave_made(const struct walk_frames *frames, struct walk_call *call,
			       uint64_t object, uint64_t sp)
{
	uint64_t record[2], cfa = 0;
	uint32_t words = 0;

	if (!frames || !call)
		return 0;
	bpf_probe_read_user(&words, sizeof(words), (const void *)(object + frames->frame_size));
	if (call->where == WALK_WHERE_CALL || call->where == WALK_WHERE_FRAME ||
	    call->where == WALK_WHERE_UNSAVED)
		cfa = words ? sp + words * 8ULL : 0;
	if (call->where == WALK_WHERE_AT_SP)
		cfa = sp + 8;
	if (call->where == WALK_WHERE_BEHIND_SAVED)
		cfa = sp + 16;
	if (!cfa || words > WALK_FRAME_WORDS_MAX ||
	    bpf_probe_read_user(record, sizeof(record), (const void *)(cfa - sizeof(record))))
		return 0;
	call->next_pc = record[1];
	call->next_sp = cfa;
	call->next_fp = call->fp;
	if (call->where != WALK_WHERE_UNSAVED && call->where != WALK_WHERE_AT_SP)
		call->next_fp = record[0];
	return 1;
}

/* Of an interpreter's frame, which has a frame pointer. */
__noinline int walk_leave_interpreted(struct walk_call *call)
{
	uint64_t words[WALK_INTERPRETED_WORDS];

	if (!call || bpf_probe_read_user(words, sizeof(words),
					 (const void *)(call->fp - WALK_INTERPRETED_BEFORE)))
		return 0;
	call->kind = WALK_CALL_INTERPRETED;
	call->what[0] = words[WALK_INTERPRETED_METHOD];
	call->what[1] = words[WALK_INTERPRETED_PLACE];
	call->next_pc = words[WALK_INTERPRETED_PC];
	call->next_sp = words[WALK_INTERPRETED_SP];
	call->next_fp = words[WALK_INTERPRETED_FP];
	return 1;
}

/* Goes on where code has noted that it called other code. */
static __always_inline void walk_take_noted(const struct walk_frames *frames,
					    struct walk_state *state, uint64_t at)
{
	state->address = walk_read_pointer(at + frames->noted_sp);
	state->instruction = walk_read_pointer(at + frames->noted_pc);
	state->frame = walk_read_pointer(at + frames->noted_fp);
	if (state->address && !state->instruction)
		state->instruction = walk_read_pointer(state->address - sizeof(uint64_t));
}

/* Where C++ has called code: that goes on in C++, and the walk with what was noted before. */
static __always_inline bool walk_leave_entry(const struct walk_frames *frames,
					     struct walk_state *state, struct walk_call *call)
{
	uint64_t record[2], noted = walk_read_pointer(call->fp + frames->entry_noted);

	if (!noted || bpf_probe_read_user(record, sizeof(record), (const void *)call->fp))
		return false;
	call->kind = WALK_CALL_ENTRY;
	call->next_fp = record[0];
	call->next_pc = record[1];
	call->next_sp = call->fp + sizeof(record);
	walk_take_noted(frames, state, noted + frames->entry_noted_at);
	return true;
}

/* Where the frame is of the innermost code, whose object has this word for its type. */
static __always_inline uint32_t walk_find_innermost(const struct walk *walk, uint64_t object,
						    uint64_t type)
{
	const struct walk_frames *frames = &walk->program->frames;
	const struct walk_object *compiled = &walk->program->code.object;

	if (walk->work->call.kind == WALK_CALL_COMPILED)
		return walk_find_where(frames, &walk->work->call, object,
				       walk->work->state.instruction);
	type = compiled->type_mask ? type & compiled->type_mask : type;
	return frames->bare_type && type == frames->bare_type ? WALK_WHERE_AT_SP
							      : WALK_WHERE_UNKNOWN;
}

/* Finds the object of made code, and what has called it. Returns the object's address. */
static __always_inline uint64_t walk_leave_frame(struct walk *walk, const struct walk_heap *heap,
						 bool *ret_is_left)
{
	const struct walk_frames *frames = &walk->program->frames;
	struct walk_state *state = &walk->work->state;
	struct walk_call *call = &walk->work->call;
	uint64_t object, type, pc = state->instruction;

	*ret_is_left = false;
	call->where = state->is_again ? WALK_WHERE_FRAME : WALK_WHERE_CALL;
	if (pc >= frames->interpreter_from && pc < frames->interpreter_to) {
		*ret_is_left = walk_leave_interpreted(call);
		if (state->is_again)
			call->what[1] = walk->work->registers.place;
		return 0;
	}
	if (pc == frames->entry) {
		*ret_is_left = walk_leave_entry(frames, state, call);
		return 0;
	}
	object = walk_find_block(heap, pc);
	if (!object)
		return 0;
	object += frames->header;
	type = walk_read_pointer(object + walk->program->code.object.type_at);
	if (walk_has_type(&walk->program->code.object, type))
		call->kind = WALK_CALL_COMPILED;
	if (state->is_again) /* the innermost one */
		call->where = walk_find_innermost(walk, object, type);
	*ret_is_left = walk_leave_made(frames, call, object, state->address);
	return object;
}

/* Goes on with what has called a frame. 1: it is not known. */
static __always_inline long walk_go_on(struct walk *walk, bool is_left, uint64_t sp)
{
	struct walk_state *state = &walk->work->state;
	const struct walk_call *call = &walk->work->call;

	state->is_again = false;
	if (!is_left)
		return walk_stop(walk, WIRE_walk_end_ABSENT);
	if (call->kind != WALK_CALL_ENTRY) {
		state->address = call->next_sp;
		state->instruction = call->next_pc;
		state->frame = call->next_fp;
	}
	if (state->address && state->address <= sp)
		return walk_stop(walk, WIRE_walk_end_ABSENT);
	return 0;
}

/* Reads the next frame. 1: it was the last one. */
static __always_inline long walk_read_frame(struct walk *walk)
{
	struct walk_state *state = &walk->work->state;
	struct walk_call *call = &walk->work->call;
	const struct walk_heap *heap = walk_find_heap(&walk->program->frames, state->instruction);
	uint64_t used = state->used, sp = state->address, *code;
	struct walk_element *element;
	bool is_left;

	if (!heap || !sp)
		return walk_stop(walk, WIRE_walk_end_END);
	barrier_var(used);
	if (state->n == WALK_ELEMENTS_MAX ||
	    used > SAMPLE_PART_MAX - sizeof(*element) - sizeof(*call) - WALK_CODE_SIZE)
		return walk_stop(walk, WIRE_walk_end_LIMIT);
	element = (void *)(walk->bytes + used);
	code = (void *)(walk->bytes + used + sizeof(*element) + sizeof(*call));
	*call = (struct walk_call){ .fp = state->frame };
	code[0] = state->instruction;
	code[1] = walk_leave_frame(walk, heap, &is_left);
	code[2] = 0;
	element->address = sp;
	element->identity = 0;
	*(struct walk_call *)(walk->bytes + used + sizeof(*element)) = *call;
	state->used = used + sizeof(*element) + sizeof(*call) + WALK_CODE_SIZE;
	state->n++;
	return walk_go_on(walk, is_left, sp);
}

/* Emits the next bytes of a range. 1: that was all, or they have no room. */
static __always_inline long walk_emit_chunk(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_work *work = walk->work;
	struct walk_made *made = &work->made;
	uint64_t size = made->to - made->from;
	long r = -EAGAIN;

	if (!size || made->to < made->from)
		return 1;
	size = size < WALK_CHUNK_SIZE ? size : WALK_CHUNK_SIZE;
	barrier_var(size);
	if (size > WALK_CHUNK_SIZE)
		return 1;
	if (walk_has_room(&work->state) &&
	    !bpf_probe_read_user(work->of_code.bytes, size, (const void *)made->from))
		r = walk_emit(walk, &work->of_code, maps->parts, made->from, made->identity, size);
	work->state.is_lost |= r == -ENOSPC;
	work->state.n_left += r != 0;
	made->from += size;
	return r != 0;
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
	to = (void *)(work->of_code.bytes + n * WALK_CALLEE_SIZE);
	to[0] = address;
	to[1] = walk_read_object(walk, maps, address);
	work->made.n = n + 1;
}

/* Reads the next pointer of what code may have inlined, and emits its object. 1: it was the last.
 */
static __always_inline long walk_read_callee(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_work *work = walk->work;
	struct walk_made *made = &work->made;
	uint64_t address;

	if (made->from >= made->to || made->n >= WALK_CALLEES_MAX)
		return 1;
	address = walk_read_pointer(made->from);
	made->from += sizeof(address);
	walk_put_callee(walk, maps, address);
	return work->state.is_lost ? 1 : 0;
}

static __always_inline void walk_begin_range(struct walk *walk, const struct walk_site range[2])
{
	struct walk_made *made = &walk->work->made;

	made->from = walk_find_site(&range[0], made->object);
	made->to = walk_find_site(&range[1], made->object);
}

/* The same for all of the code's callees. Returns whether all are emitted. */
static __always_inline bool walk_emit_callees(struct walk *walk, const struct walk_maps *maps,
					      long (*read)(uint32_t i, void *walk))
{
	struct walk_work *work = walk->work;
	uint64_t n_left = work->state.n_left, at, size;

	walk_begin_range(walk, walk->program->frames.callees);
	at = work->made.from;
	work->made.n = 0;
	walk_put_callee(walk, maps,
			walk_read_pointer(work->made.object + walk->program->frames.own));
	bpf_loop(WALK_CALLEES_MAX, read, walk, 0);
	if (work->state.n_left != n_left || work->state.is_lost || !walk_has_room(&work->state))
		return false;
	size = work->made.n * WALK_CALLEE_SIZE;
	barrier_var(size);
	return at && size <= WALK_MEMORY_MAX &&
	       !walk_emit(walk, &work->of_code, maps->parts, at + 1, work->made.identity, size);
}

/*
 * Emits what belongs to an object of code, and it at the end: who finds it finds all. 0 or -errno.
 */
static __always_inline long walk_emit_made(struct walk *walk, const struct walk_maps *maps,
					   const struct walk_callbacks *callbacks)
{
	struct walk_work *work = walk->work;
	uint64_t n_left = work->state.n_left, size = walk->program->code.object.size;

	if (!walk_emit_callees(walk, maps, callbacks->callee))
		return -EAGAIN;
	for (uint32_t i = 0; i < WALK_RANGES; i++) {
		walk_begin_range(walk, walk->program->frames.ranges[i]);
		bpf_loop(WALK_CHUNKS_MAX, callbacks->chunk, walk, 0);
	}
	barrier_var(size);
	if (work->state.n_left != n_left || work->state.is_lost || size > WALK_OBJECT_MAX ||
	    bpf_probe_read_user(work->of_code.bytes, size, (const void *)work->made.object))
		return -EAGAIN;
	return walk_emit(walk, &work->of_code, maps->parts, work->made.object, work->made.identity,
			 size);
}

/* Puts the identity of a frame's code, and emits that if it is new. */
static __always_inline void walk_put_made(struct walk *walk, const struct walk_maps *maps,
					  const struct walk_callbacks *callbacks, uint64_t *code)
{
	struct walk_made *made = &walk->work->made;
	struct walk_place place;

	*made = (struct walk_made){ .object = code[1] };
	made->identity = walk_brief_identity(&walk->program->code.object, &walk->work->of_code,
					     made->object);
	code[2] = made->identity;
	if (!made->identity)
		return;
	place = walk_find_place(walk, maps->seen, made->object, made->identity);
	if (place.set && !walk_is_in(place.set, place.item))
		walk_note(&walk->work->state, place, walk_emit_made(walk, maps, callbacks));
}

/* Finds the method or the code of the next frame, once all have been read. 1: there are no more. */
static __always_inline long walk_read_made(struct walk *walk, const struct walk_maps *maps,
					   const struct walk_callbacks *callbacks)
{
	struct walk_state *state = &walk->work->state;
	uint64_t place = state->place;
	struct walk_element *element;
	struct walk_call *call;
	uint64_t *code;

	barrier_var(place);
	if (place > SAMPLE_PART_MAX - sizeof(*element) - sizeof(*call) - WALK_CODE_SIZE)
		return 1;
	element = (void *)(walk->bytes + place);
	call = (void *)(walk->bytes + place + sizeof(*element));
	code = (void *)(walk->bytes + place + sizeof(*element) + sizeof(*call));
	if (call->kind == WALK_CALL_INTERPRETED)
		call->what[1] -=
			walk_read_pointer(call->what[0] + walk->program->frames.place_from);
	if (call->kind == WALK_CALL_INTERPRETED)
		element->identity = walk_read_object(walk, maps, call->what[0]);
	if (call->kind == WALK_CALL_COMPILED)
		walk_put_made(walk, maps, callbacks, code);
	state->place = place + sizeof(*element) + sizeof(*call) + WALK_CODE_SIZE;
	return state->is_lost ? 1 : 0;
}

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
	state->is_again = state->address = 0;
	walk_begin_calls(walk);
	if (state->address)
		bpf_loop(WALK_ELEMENTS_MAX + 1, callbacks->frame, walk, 0);
	bpf_loop(state->n, callbacks->made, walk, 0);
	walk_end_list(walk, at);
}
