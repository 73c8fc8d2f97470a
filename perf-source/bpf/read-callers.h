/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who has called made code, which has no frame pointers (struct walk_frames): by the size of its
 * frames, and for the innermost one by what its instructions and return addresses tell.
 */
#pragma once

#include "perf-source/bpf/read-root.h"

enum {
	WALK_BACK_MAX = 64, /* bytes of a heap that are followed to a block's begin */
	WALK_NO_BLOCK = 255,
	WALK_FRAME_WORDS_MAX = 1 << 16,
	WALK_INTERPRETED_BEFORE = 64, /* bytes in front of an interpreter's frame pointer: */
	WALK_INTERPRETED_WORDS = 10,
	WALK_INTERPRETED_PLACE = 0, /* where in the method, */
	WALK_INTERPRETED_METHOD = 5,
	WALK_INTERPRETED_CALL = 6, /* its stack pointer, while it calls; 0: it does not */
	WALK_INTERPRETED_SP = 7,   /* the stack pointer of what has called it, */
	WALK_INTERPRETED_FP = 8,   /* its frame pointer, and where it goes on */
	WALK_INTERPRETED_PC = 9,
	WALK_CALL_NEAR = 0xe8, /* call: behind it the distance to its target */
	WALK_CALL_SIZE = 5,
	WALK_ALIGNMENT = 16,	 /* of the stack at calls */
	WALK_MOVED_MAX = 128,	 /* bytes by which code moves its stack pointer */
	WALK_STUB_MAX = 1 << 12, /* bytes of a frame that is none of compilers */
};

/*
 * The number of the heap that has an address, from 1 on; 0: none has. A pointer to it would have
 * the kernel verify all that follows once for each heap.
 */
__noinline uint32_t walk_find_heap(const struct walk_frames *frames, uint64_t address)
{
	uint32_t number = 0;

	if (!frames)
		return 0;
	for (uint32_t i = 0; i < WALK_HEAPS_MAX; i++)
		number |= walk_mask(walk_is_within(address, frames->heaps[i].from,
						   frames->heaps[i].to)) &
			  (i + 1);
	return number;
}

/* The block of a heap that has an address; 0: none has. */
__noinline uint64_t walk_find_block(const struct walk_frames *frames, uint64_t address)
{
	const struct walk_heap *heap;
	uint64_t segment, index;
	uint8_t back = 0;

	if (!frames)
		return 0;
	index = walk_find_heap(frames, address) - 1ULL;
	barrier_var(index);
	if (index >= WALK_HEAPS_MAX)
		return 0;
	heap = &frames->heaps[index];
	segment = (address - heap->from) >> (heap->shift & 63);
	for (uint32_t i = 0; i < WALK_BACK_MAX; i++) {
		if (bpf_probe_read_user(&back, sizeof(back),
					(const void *)(heap->segments + segment)) ||
		    back == WALK_NO_BLOCK)
			return 0;
		if (!back)
			break;
		segment -= back;
	}
	return back ? 0 : heap->from + (segment << (heap->shift & 63));
}

/* 1 if code fits a pattern, else 0. */
static __always_inline uint64_t walk_fits(const struct walk_pattern *pattern,
					  const struct walk_call *call, uint64_t part)
{
	uint64_t before = (call->what[0] & pattern->before_mask) ^ pattern->before,
		 at = (call->what[1] & pattern->at_mask) ^ pattern->at,
		 elsewhere = (pattern->part ^ part) * (pattern->part ^ WALK_ANYWHERE);

	return walk_is_zero(before | at | elsewhere);
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
		where |= walk_mask(walk_fits(&frames->patterns[i], call, part) &
				   walk_is_zero(where)) &
			 frames->patterns[i].where;
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

/* What the call in front of a return address has called, by its own bytes; 0: it is none. */
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
	uint64_t target, block;

	if (!program)
		return 0;
	target = walk_call_target(return_address);
	block = target ? walk_find_block(&program->frames, target) : 0;
	return block ? block + program->frames.header : 0;
}

/* What a call of interpreted code goes to: it loads the method, and goes on to the interpreter. */
struct walk_call_stub {
	uint8_t load[2]; /* mov METHOD,%rbx */
	uint64_t method;
} __attribute__((packed));

/*
 * Whether a call is one of code of the same method: loops are replaced by other code as they run,
 * and methods by better code while some of them are executed.
 */
static __always_inline bool walk_calls_same(const struct walk_program *program, uint64_t target,
					    uint64_t called, uint64_t object)
{
	uint64_t own = walk_read_pointer(object + program->frames.own),
		 type = walk_read_pointer(called + program->code.object.type_at);
	struct walk_call_stub stub;

	if (!own || bpf_probe_read_user(&stub, sizeof(stub), (const void *)target))
		return false;
	if (stub.load[0] == 0x48 && stub.load[1] == 0xbb)
		return stub.method == own;
	return walk_has_type(&program->code.object, type) &&
	       walk_read_pointer(called + program->frames.own) == own;
}

/*
 * Whether it is proved that the innermost code was called from where it seems to return to: behind
 * a call of this very code, of other code of its method, or of a stub that finds methods in a
 * table; from the interpreter, whose frame has noted a call; or where C++ calls code. Old return
 * addresses lie everywhere in a stack.
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
	if (!called || called == object ||
	    walk_calls_same(program, walk_call_target(call->next_pc), called, object))
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
	uint64_t has_begun = 0;

	for (uint32_t i = 0; i < WALK_BEGINS_MAX; i++)
		has_begun |= walk_is_within(pc, frames->begins[i].from, frames->begins[i].to);
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
static __always_inline uint64_t walk_leave_frame(struct walk *walk, bool *ret_is_left)
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
	object = walk_find_block(frames, pc);
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
	uint64_t used = state->used, sp = state->address, *code;
	struct walk_element *element;
	bool is_left;

	if (!sp)
		return walk_stop(walk, WIRE_walk_end_END);
	if (!walk_find_heap(&walk->program->frames, state->instruction))
		return walk_stop(walk, WIRE_walk_end_ABSENT);
	barrier_var(used);
	if (state->n == WALK_ELEMENTS_MAX ||
	    used > SAMPLE_PART_MAX - sizeof(*element) - sizeof(*call) - WALK_CODE_SIZE)
		return walk_stop(walk, WIRE_walk_end_LIMIT);
	element = (void *)(walk->bytes + used);
	code = (void *)(walk->bytes + used + sizeof(*element) + sizeof(*call));
	*call = (struct walk_call){ .fp = state->frame };
	code[0] = state->instruction;
	code[1] = walk_leave_frame(walk, &is_left);
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
