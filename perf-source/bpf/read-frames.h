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
	WALK_CHUNKS_MAX = 24,	      /* of each part of what belongs to code, */
	WALK_CHUNKS_ALL = 40,	      /* and of all: code with more has none */
	WALK_INTERPRETED_BEFORE = 64, /* bytes in front of an interpreter's frame pointer: */
	WALK_INTERPRETED_WORDS = 10,
	WALK_INTERPRETED_PLACE = 0, /* where in the method, */
	WALK_INTERPRETED_METHOD = 5,
	WALK_INTERPRETED_CALL = 6, /* its stack pointer, while it calls; 0: it does not */
	WALK_INTERPRETED_SP = 7,   /* the stack pointer of what has called it, */
	WALK_INTERPRETED_FP = 8,   /* its frame pointer, and where it goes on */
	WALK_INTERPRETED_PC = 9,
	WALK_CALLEE_SIZE = 16, /* address and identity */
	WALK_CALL_NEAR = 0xe8, /* call: behind it the distance to its target */
	WALK_CALL_SIZE = 5,
	WALK_ALIGNMENT = 16,	 /* of the stack at calls */
	WALK_MOVED_MAX = 128,	 /* bytes by which code moves its stack pointer */
	WALK_STUB_MAX = 1 << 12, /* bytes of a frame that is none of compilers */
	WALK_CALLEES_ALL = 2048, /* whose identities are found for one sample */
	WALK_PIECES_MAX = 2 + WALK_RANGES + WALK_CHUNKS_ALL,
	WALK_FOUND_MAX = 4, /* new code that is emitted with one sample */
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
				      const struct walk_call *call, uint32_t part)
{
	return pattern->where && (pattern->part == part || pattern->part == WALK_ANYWHERE) &&
	       (call->what[0] & pattern->before_mask) == pattern->before &&
	       (call->what[1] & pattern->at_mask) == pattern->at;
}

/* Where the frame is of the code that was interrupted, by the bytes of its instructions. */
__noinline uint32_t walk_find_where(const struct walk_frames *frames, struct walk_call *call,
				    uint64_t object, uint64_t pc)
{
	uint64_t begin, made = 0;
	uint32_t part, where = 0;
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
	part = pc - begin < made ? WALK_IN_BEGIN : WALK_BEHIND;
	for (uint32_t i = 0; i < WALK_PATTERNS_MAX; i++)
		if (!where && walk_fits(&frames->patterns[i], call, part))
			where = frames->patterns[i].where;
	if (!where && part == WALK_BEHIND)
		where = WALK_WHERE_FRAME;
	return where;
}

/* Instructions in front of a return address, as compilers have them. */
struct walk_far_call {
	uint8_t load[2]; /* mov TARGET,%r10 */
	uint64_t target;
	uint8_t call[3]; /* call *%r10 */
} __attribute__((packed));

/* What the call in front of a return address has called, by its own bytes; 0: it is no such call.
 */
static __always_inline uint64_t walk_call_target(uint64_t return_address)
{
	struct walk_far_call far;
	const uint8_t *near = (const uint8_t *)(&far + 1) - WALK_CALL_SIZE;
	int32_t distance;

	if (bpf_probe_read_user(&far, sizeof(far), (const void *)(return_address - sizeof(far))))
		return 0;
	if (far.load[0] == 0x49 && far.load[1] == 0xba && far.call[0] == 0x41 &&
	    far.call[1] == 0xff && far.call[2] == 0xd2)
		return far.target;
	if (near[0] != WALK_CALL_NEAR)
		return 0;
	distance = near[1] | near[2] << 8 | near[3] << 16 | (uint32_t)near[4] << 24;
	return return_address + distance;
}

/* The object of the code that the call in front of a return address has called; 0: not known. */
__noinline uint64_t walk_called(const struct walk_program *program, uint64_t return_address)
{
	const struct walk_heap *heap;
	uint64_t target, block;

	if (!program)
		return 0;
	target = walk_call_target(return_address);
	heap = target ? walk_find_heap(&program->frames, target) : 0;
	block = heap ? walk_find_block(heap, target) : 0;
	return block ? block + program->frames.header : 0;
}

/*
 * Whether it is proved that the innermost code was called from where it seems to return to: behind
 * a call of this very code, or of a stub that finds methods in a table; from the interpreter, whose
 * frame has noted a call; or where C++ calls code. Old return addresses lie everywhere in a stack.
 */
__noinline int walk_is_proved(const struct walk_program *program, const struct walk_call *call,
			      uint64_t object)
{
	const struct walk_frames *frames;
	uint64_t called, type;

	if (!program || !call)
		return 0;
	frames = &program->frames;
	if (call->next_pc == frames->entry)
		return 1;
	if (call->next_pc >= frames->interpreter_from && call->next_pc < frames->interpreter_to)
		return walk_read_pointer(call->next_fp - WALK_INTERPRETED_BEFORE +
					 WALK_INTERPRETED_CALL * sizeof(uint64_t)) != 0;
	called = walk_called(program, call->next_pc);
	if (!called || called == object)
		return called != 0;
	type = walk_read_pointer(called + program->code.object.type_at);
	type = program->code.object.type_mask ? type & program->code.object.type_mask : type;
	return frames->bare_type && type == frames->bare_type;
}

static __always_inline bool walk_is_called_by_next(const struct walk_program *program,
						   const struct walk_call *call, uint64_t object)
{
	return call->next_pc && call->next_sp % WALK_ALIGNMENT == 0 &&
	       walk_called(program, call->next_pc) == object;
}

/*
 * Of the innermost code that is none of compilers: it has a frame with a frame pointer, or none. It
 * counts only if the return address is behind a call of this very code. The frame comes first, as
 * it may have an old return address in a place that is not used yet.
 */
__noinline int walk_leave_stub(const struct walk_program *program, struct walk_call *call,
			       uint64_t object, uint64_t sp)
{
	uint64_t record[2] = { 0 };

	if (!program || !call)
		return 0;
	if (call->fp - sp < WALK_STUB_MAX &&
	    !bpf_probe_read_user(record, sizeof(record), (const void *)call->fp)) {
		call->where = WALK_WHERE_FRAME;
		call->next_pc = record[1];
		call->next_sp = call->fp + sizeof(record);
		call->next_fp = record[0];
		if (walk_is_called_by_next(program, call, object))
			return 1;
	}
	call->where = WALK_WHERE_AT_SP;
	call->next_pc = walk_read_pointer(sp);
	call->next_sp = sp + sizeof(record[0]);
	call->next_fp = call->fp;
	return walk_is_called_by_next(program, call, object);
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
	/* Calls of compiled code are aligned: else something was pushed, or popped already. */
	if (call->where != WALK_WHERE_CALL && cfa % WALK_ALIGNMENT)
		return 0;
	call->next_pc = record[1];
	call->next_sp = cfa;
	call->next_fp = call->fp;
	if (call->where != WALK_WHERE_UNSAVED && call->where != WALK_WHERE_AT_SP)
		call->next_fp = record[0];
	return 1;
}

/*
 * The stack pointer that code goes on with, if it has moved it: searches in strings keep it on top
 * of the stack, or in a register until it is there. 0: it seems not to have moved.
 */
static __always_inline uint64_t walk_find_saved_sp(const struct walk_registers *registers,
						   uint64_t sp)
{
	uint64_t saved = walk_read_pointer(sp);

	if (saved - sp - 1 >= WALK_MOVED_MAX)
		saved = registers->saved_sp;
	return saved - sp - 1 < WALK_MOVED_MAX ? saved : 0;
}

static __always_inline bool walk_leave_proved(const struct walk *walk, uint64_t object, uint64_t sp)
{
	struct walk_call *call = &walk->work->call;

	return walk_leave_made(&walk->program->frames, call, object, sp) &&
	       walk_is_proved(walk->program, call, object);
}

/*
 * Of compiled code that was interrupted, or was called by a stub that was: no description tells
 * where its frame is. Both places may seem right, if an old return address is in one.
 */
static __always_inline bool walk_leave_unsure(const struct walk *walk, uint64_t object)
{
	struct walk_call *call = &walk->work->call;
	uint64_t sp = walk->work->state.address, saved = 0;
	bool is_left;

	if (call->where == WALK_WHERE_FRAME)
		saved = walk_find_saved_sp(&walk->work->registers, sp);
	is_left = saved && walk_leave_proved(walk, object, saved);
	if (!is_left)
		return walk_leave_proved(walk, object, sp);
	return !walk_leave_proved(walk, object, sp) && walk_leave_proved(walk, object, saved);
}

/* Of an interpreter's frame, which has a frame pointer. */
__noinline int walk_leave_interpreted(struct walk_call *call)
{
	uint64_t words[WALK_INTERPRETED_WORDS];

	if (!call || bpf_probe_read_user(words, sizeof(words),
					 (const void *)(call->fp - WALK_INTERPRETED_BEFORE)))
		return 0;
	/* What is innermost calls nothing: else the frame was left, and it is that of its caller.
	 */
	if (call->where != WALK_WHERE_CALL && words[WALK_INTERPRETED_CALL])
		return 0;
	call->kind = WALK_CALL_INTERPRETED;
	call->what[0] = words[WALK_INTERPRETED_METHOD];
	call->what[1] = words[WALK_INTERPRETED_PLACE];
	call->next_pc = words[WALK_INTERPRETED_PC];
	call->next_sp = words[WALK_INTERPRETED_SP];
	call->next_fp = words[WALK_INTERPRETED_FP];
	return 1;
}

/*
 * Of the interpreter, where a function begins: the return address is on top of the stack, and the
 * stack pointer that its caller goes on with in a register.
 */
__noinline int walk_leave_begun(struct walk_call *call, uint64_t sp, uint64_t caller_sp)
{
	if (!call)
		return 0;
	call->where = WALK_WHERE_AT_SP;
	call->next_pc = walk_read_pointer(sp);
	call->next_sp = caller_sp;
	call->next_fp = call->fp;
	return call->next_pc != 0;
}

static __always_inline bool walk_has_begun(const struct walk_frames *frames, uint64_t pc)
{
	bool has_begun = false;

	for (uint32_t i = 0; i < WALK_BEGINS_MAX; i++)
		has_begun |= pc >= frames->begins[i].from && pc < frames->begins[i].to;
	return has_begun;
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

/*
 * Whether the caller is an interpreter's frame that is being made of one of compiled code: by other
 * made code, which has called C++.
 */
static __always_inline bool walk_is_unfilled(const struct walk_frames *frames,
					     const struct walk_call *call)
{
	return call->kind == WALK_CALL_OTHER && call->where == WALK_WHERE_CALL &&
	       call->next_pc >= frames->interpreter_from && call->next_pc < frames->interpreter_to;
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
	if (state->is_again && walk_has_begun(frames, pc)) {
		*ret_is_left = walk_leave_begun(call, state->address, walk->work->registers.place);
		return 0;
	}
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
	if (call->where == WALK_WHERE_UNKNOWN && call->kind == WALK_CALL_OTHER) {
		*ret_is_left = walk_leave_stub(walk->program, call, object, state->address);
		return object;
	}
	if (call->kind == WALK_CALL_COMPILED && (state->is_again || state->is_behind_stub))
		*ret_is_left = walk_leave_unsure(walk, object);
	else
		*ret_is_left = walk_leave_made(frames, call, object, state->address) &&
			       !walk_is_unfilled(frames, call);
	return object;
}

/* Goes on with what has called a frame. 1: it is not known. */
static __always_inline long walk_go_on(struct walk *walk, bool is_left, uint64_t sp)
{
	struct walk_state *state = &walk->work->state;
	const struct walk_call *call = &walk->work->call;

	state->is_behind_stub = state->is_again && call->kind == WALK_CALL_OTHER;
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

	if (!sp)
		return walk_stop(walk, WIRE_walk_end_END);
	if (!heap)
		return walk_stop(walk, WIRE_walk_end_ABSENT);
	barrier_var(used);
	if (state->n == WALK_ELEMENTS_MAX ||
	    used > SAMPLE_PART_MAX - sizeof(*element) - sizeof(*call) - WALK_CODE_SIZE)
		return walk_stop(walk, WIRE_walk_end_LIMIT);
	element = (void *)(walk->bytes + used);
	code = (void *)(walk->bytes + used + sizeof(*element) + sizeof(*call));
	*call = (struct walk_call){ .fp = state->frame };
	code[0] = state->instruction;
	code[1] = walk_leave_frame(walk, heap, &is_left);
	/* Only C++ that has called code at its entry is no such code itself. */
	if (call->kind != WALK_CALL_ENTRY && !walk_find_heap(&walk->program->frames, call->next_pc))
		is_left = false;
	if (!is_left)
		call->next_pc = 0;
	code[2] = 0;
	element->address = sp;
	element->identity = 0;
	*(struct walk_call *)(walk->bytes + used + sizeof(*element)) = *call;
	state->used = used + sizeof(*element) + sizeof(*call) + WALK_CODE_SIZE;
	state->n++;
	return walk_go_on(walk, is_left, sp);
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
	to[1] = walk_read_object(walk, maps, address);
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
static __always_inline long walk_end_pieces(struct walk *walk, const struct walk_maps *maps, long r)
{
	const struct walk_made *made = &walk->work->made;
	struct walk_place place = walk_find_place(walk, maps->seen, made->object, made->identity);

	if (place.set)
		walk_note(&walk->work->state, place, r);
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
		return walk_end_pieces(walk, maps, walk_emit_object(walk, maps));
	}
	return r ? walk_end_pieces(walk, maps, r) : 0;
}

/*
 * Puts the identity of a frame's code. 1: that is new, and is to be emitted. The next samples go on
 * with what has no room in this one.
 */
static __always_inline long walk_put_made(struct walk *walk, const struct walk_maps *maps,
					  uint64_t *code)
{
	struct walk_state *state = &walk->work->state;
	struct walk_made *made = &walk->work->made;
	struct walk_place place;

	made->identity =
		walk_brief_identity(&walk->program->code.object, &walk->work->of_code, code[1]);
	code[2] = made->identity;
	if (!made->identity)
		return 0;
	place = walk_find_place(walk, maps->seen, code[1], made->identity);
	if (!place.set || walk_is_in(place.set, place.item))
		return 0;
	if (state->n_left || made->n_found == WALK_FOUND_MAX) {
		state->n_left++;
		return 0;
	}
	made->object = code[1];
	made->n_found++;
	return 1;
}

/* Finds the method or the code of the next frame, once all have been read. 1: there are no more, or
 * it has found new code. */
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
		element->identity = walk_read_object(walk, maps, call->what[0]);
	}
	if (call->kind == WALK_CALL_COMPILED && walk_put_made(walk, maps, code))
		return 1;
	return state->is_lost ? 1 : 0;
}

/*
 * Finds what all frames execute. New code is emitted in steps that begin here, as Linux 6.1 has too
 * little stack for functions that call each other deeper.
 */
static __always_inline void walk_read_all_made(struct walk *walk,
					       const struct walk_callbacks *callbacks)
{
	struct walk_work *work = walk->work;

	work->made.n_found = 0;
	for (uint32_t i = 0; i <= WALK_FOUND_MAX; i++) {
		barrier_var(i); /* Linux 6.1 refuses loops that end without a jump */
		work->made.object = 0;
		bpf_loop(work->state.n, callbacks->made, walk, 0);
		if (!work->made.object || work->state.is_lost)
			break;
		bpf_loop(1 + WALK_CALLEES_MAX, callbacks->callee, walk, 0);
		bpf_loop(WALK_PIECES_MAX, callbacks->piece, walk, 0);
	}
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
	state->is_again = state->is_behind_stub = state->address = 0;
	walk_begin_calls(walk);
	if (state->address)
		bpf_loop(WALK_ELEMENTS_MAX + 1, callbacks->frame, walk, 0);
	walk_read_all_made(walk, callbacks);
	walk_end_list(walk, at);
}
