/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where LuaJIT 2.1 has what its threads (coroutines) execute: frames in each one's own stack, from
 * the current one down. No variable leads to it, but the C stack keeps a thread (SAVE_L of
 * vm_x64.dasc), which leads to what all share, and that to the current one. The interpreter is one
 * function made by hand, whose instructions say where all is; nothing of it is exported.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/script/luajit-frames.h"
#include "perf-source/context/runtime.h"
#include "perf-source/image/interpreter-loop.h"

enum {
	WORD = 8,
	KEPT_WORDS = 512,
	FRAMES_MAX = 384,	  /* of the current thread, */
	FRAMES_OF_OTHER_MAX = 96, /* and of each of those that have resumed it */
	CODE_READ = 64,
	TORN_MAX = 8,
	/* Of builds with 64-bit pointers (LJ_GC64, LJ_FR2). GCHeader: */
	TYPE_WORD = 8,
	TYPE_SHIFT = 8 * (LUAJIT_TYPE_AT - TYPE_WORD),
	TYPE_BITS = 0xff << TYPE_SHIFT,
	/* lua_State. */
	THREAD_GLOBAL = 16,
	THREAD_BASE = 32,
	THREAD_STACK = 56,
	THREAD_CFRAME = 80,
	THREAD_WINDOW = 88,
	/* global_State: two words behind each other. */
	GLOBAL_CURRENT = 0, /* cur_L */
	GLOBAL_JIT_BASE = 8,
	GLOBAL_WINDOW = 16,
	/* What is in front of a base: of a continuation, what it is and where it goes on; then the
	 * function and the link (lj_frame.h). */
	FRAME_WINDOW = 32,
	FRAME_CONTINUATION = 0,
	FRAME_CONTINUATION_PC = 8,
	FRAME_FUNCTION = 16,
	FRAME_LINK = 24,
	FRAME_STEPS = 2, /* 1 + LJ_FR2 */
	/* GCfunc, and GCproto, behind which its instructions are. */
	FUNCTION_PC = 32,
	PROTO_SIZE = 104,
	PROTO_N_CODE = 12,
	PROTO_CONSTANTS = 32,
	PROTO_N_CONSTANTS = 48,
	PROTO_TOTAL = 56,
	PROTO_NAME = 64,
	PROTO_LINE = 72,
	PROTO_N_LINES = 76,
	PROTO_LINES = 80,
	/* GCstr. */
	STRING_TEXT = 24,
	STRING_LENGTH = 20,
	STRING_HASH_WORD = 16,
	NAME_READ = STRING_TEXT + 256,
	LINES_READ = 4096,
	PARTS = 64, /* in which sizes are counted */
	/* The frame in C, and the return address (CFRAME_SIZE). */
	CFRAME_SIZE = 80,
};

/* What the interpreter's instructions say. */
struct luajit_places {
	struct interpreter_loop loop;
	uint16_t current; /* of what all share: the current thread, behind which jit_base is, */
	uint16_t first_thread;	 /* and the main thread */
	uint64_t left;		 /* where code that leaves a trace goes on after it has called C */
	uint64_t torn[TORN_MAX]; /* instructions behind which a frame's link is written */
	size_t n_torn;
};

/* The next place in code with these bytes; NULL: there is none. */
static const uint8_t *find_bytes(const uint8_t *code, const uint8_t *end, const void *bytes,
				 size_t size)
{
	return memmem(code, end - code, bytes, size);
}

static int32_t distance_at(const uint8_t *at)
{
	int32_t ret;

	memcpy(&ret, at, sizeof(ret));
	return ret;
}

/* Where a call returns to that follows on `movq $0,jit_base(%r14)`. False: none does. */
static bool find_left(const uint8_t *code, const uint8_t *at, const uint8_t *end,
		      struct luajit_places *ret)
{
	static const uint8_t ends[] = { 0x49, 0xc7, 0x86 };
	enum { SIZE = sizeof(ends) + 2 * sizeof(int32_t), CALL = 0xe8, CALL_SIZE = 5, NEAR = 64 };

	if (end - at < NEAR)
		return false;
	at = find_bytes(at, at + NEAR - SIZE - CALL_SIZE, ends, sizeof(ends));
	if (!at || at[SIZE] != CALL)
		return false;
	ret->left = ret->loop.parts[0].from + (at - code) + SIZE + CALL_SIZE;
	return true;
}

/*
 * Code that leaves a trace reads both words: `mov cur_L(%r14),%rbp; mov jit_base(%r14),%rdx; mov
 * %rbp,J.L(%r14); mov %rdx,0x20(%rbp)`. r14 is so far behind what all share: `mov 0x10(%rbp),%r14;
 * add $N,%r14`.
 */
static bool find_current(const uint8_t *code, const uint8_t *end, struct luajit_places *ret)
{
	static const uint8_t begins[] = { 0x4c, 0x8b, 0x75, THREAD_GLOBAL, 0x49, 0x81, 0xc6 },
			     current[] = { 0x49, 0x8b, 0xae }, base[] = { 0x49, 0x8b, 0x96 },
			     keeps[] = { 0x49, 0x89, 0xae },
			     sets[] = { 0x48, 0x89, 0x55, THREAD_BASE };
	enum { STEP = sizeof(current) + sizeof(int32_t) };
	const uint8_t *at = find_bytes(code, end - sizeof(int32_t), begins, sizeof(begins));
	int32_t behind;

	if (!at)
		return false;
	behind = distance_at(at + sizeof(begins));
	for (at = code; (at = find_bytes(at, end, current, sizeof(current))); at++) {
		int32_t to = distance_at(at + sizeof(current));

		if (end - at < 3 * STEP + (int)sizeof(sets))
			return false;
		if (memcmp(at + STEP, base, sizeof(base)) != 0 ||
		    memcmp(at + 2 * STEP, keeps, sizeof(keeps)) != 0 ||
		    memcmp(at + 3 * STEP, sets, sizeof(sets)) != 0 ||
		    distance_at(at + STEP + sizeof(base)) != to + GLOBAL_JIT_BASE)
			continue;
		ret->current = behind + to;
		return behind + to > 0 && behind + to < INT16_MAX && find_left(code, at, end, ret);
	}
	return false;
}

/*
 * A call makes the new frame the current one, and then writes its link: `mov %rbx,-8(%rdx)`. What
 * was there is of an earlier call.
 */
static bool find_torn(const uint8_t *code, const uint8_t *end, struct luajit_places *ret)
{
	static const uint8_t writes[] = { 0x48, 0x89, 0x5a, 0xf8 };
	const uint8_t *at = code;

	for (; (at = find_bytes(at, end, writes, sizeof(writes))); at++) {
		if (ret->n_torn == TORN_MAX)
			return false;
		ret->torn[ret->n_torn++] = ret->loop.parts[0].from + (at - code);
	}
	return ret->n_torn;
}

/* Whether frames and functions have the form that is known. */
static bool is_known_form(const uint8_t *code, const uint8_t *end)
{
	/* `push %rbp; push %rbx; push %r15; push %r14; sub $0x28,%rsp`; where a thread notes it;
	 * and where a function's instructions lead to its constants. */
	static const uint8_t
		enters[] = { 0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28 },
		notes[] = { 0x4c, 0x89, 0x7d, THREAD_CFRAME },
		loads[] = { 0x4d, 0x8b, 0x7f, FUNCTION_PC, 0x4d, 0x8b, 0x7f, 0xb8 };

	return find_bytes(code, end, enters, sizeof(enters)) &&
	       find_bytes(code, end, notes, sizeof(notes)) &&
	       find_bytes(code, end, loads, sizeof(loads));
}

/*
 * lua_pushthread() compares its argument with the main thread: `mov 0x10(%rdi),%rax; cmp
 * N(%rax),%rdi`, also in another register than rdi.
 */
static bool find_first_thread(const struct loaded_image *image, struct luajit_places *ret)
{
	enum { LOAD = 4, COMPARE = 3, REGISTER = 0x07, COMPARED = 0x38 };
	uint8_t code[CODE_READ];
	GElf_Sym function;

	if (!loaded_image_find_symbol(image, "lua_pushthread", &function) ||
	    !loaded_image_read(image, function.st_value, code, sizeof(code)))
		return false;
	for (size_t i = 0; i + LOAD + COMPARE + sizeof(int32_t) <= sizeof(code); i++) {
		const uint8_t *load = code + i, *compare = load + LOAD;

		if (load[0] != 0x48 || load[1] != 0x8b || (load[2] & ~REGISTER) != 0x40 ||
		    load[3] != THREAD_GLOBAL || compare[0] != 0x48 || compare[1] != 0x3b ||
		    (compare[2] & ~COMPARED) != 0x80)
			continue;
		ret->first_thread = distance_at(compare + COMPARE);
		return ret->first_thread % WORD == 0;
	}
	return false;
}

static bool find_places(const struct loaded_image *image, struct luajit_places *ret)
{
	static const uint8_t dispatches[] = { 0x41, 0xff, 0x24, 0xee }; /* jmp *(%r14,%rbp,8) */
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t from, size;

	if (!interpreter_loop_find_repeating(image, dispatches, sizeof(dispatches), &ret->loop) ||
	    !find_first_thread(image, ret))
		return false;
	from = ret->loop.parts[0].from;
	size = ret->loop.parts[0].to - from;
	code = malloc(size);
	return code && loaded_image_read(image, from, code, size) &&
	       is_known_form(code, code + size) && find_current(code, code + size, ret) &&
	       find_torn(code, code + size, ret);
}

static uint32_t word(int offset)
{
	return 1U << (offset / WORD);
}

/* Instructions are changed as they become hot; these words are not. */
static struct walk_object proto(void)
{
	return (struct walk_object){
		.pointer_mask = UINT64_MAX,
		.words = word(PROTO_N_CONSTANTS) | word(PROTO_NAME) | word(PROTO_LINE) |
			 word(PROTO_LINES),
		.pointer = FRAME_WINDOW, /* the word behind */
		.size = PROTO_SIZE,
		.type_at = TYPE_WORD,
		.type_mask = TYPE_BITS,
		.type = LUAJIT_TYPE_OF_PROTO << TYPE_SHIFT,
		.texts = { { .pointer = PROTO_NAME,
			     .size = NAME_READ,
			     .words = word(STRING_HASH_WORD) },
			   { .pointer = PROTO_LINES,
			     .size = LINES_READ,
			     .sized_by = PROTO_N_CODE,
			     .size_scale = PARTS } },
	};
}

/* A root in a thread that the stack keeps: where something is, or to where that leads. */
static struct walk_root of_thread(uint16_t at, uint8_t n_loads)
{
	return (struct walk_root){
		.base = WALK_BASE_KEPT,
		.start = at,
		.n_loads = n_loads,
		.self = -1,
	};
}

/* The same in what all threads share. */
static struct walk_root shared(uint16_t at, uint8_t n_loads)
{
	struct walk_root root = of_thread(THREAD_GLOBAL, n_loads);

	root.loads[0] = at;
	return root;
}

static struct walk_list frames(uint16_t limit)
{
	return (struct walk_list){
		.window = FRAME_WINDOW,
		.before = FRAME_WINDOW,
		.next = FRAME_LINK,
		.steps = FRAME_STEPS,
		.limit = limit,
		.is_like_first = true,
	};
}

/* While a trace runs, its first frame is noted; while the interpreter does, rdx has the frame. */
static struct walk_list current_frames(const struct loaded_image *image,
				       const struct luajit_places *places)
{
	struct walk_list list = frames(FRAMES_MAX);

	list.roots[0] = shared(places->current + GLOBAL_JIT_BASE, 2);
	list.roots[1] = (struct walk_root){
		.base = WALK_BASE_REGISTER,
		.start = image->bias + places->loop.parts[0].from,
		.flag = places->loop.parts[0].to - places->loop.parts[0].from,
		.self = -1,
	};
	list.roots[2] = of_thread(THREAD_BASE, 1);
	return list;
}

/* Of another thread that the stack keeps: it has resumed the one before. */
static struct walk_list resumer_frames(uint8_t thread)
{
	struct walk_list list = frames(FRAMES_OF_OTHER_MAX);

	list.kept = thread;
	list.roots[0] = of_thread(THREAD_BASE, 1);
	return list;
}

static struct walk_program make_walk(const struct loaded_image *image,
				     const struct luajit_places *places)
{
	return (struct walk_program){
		.lists = { current_frames(image, places),
			   { .window = THREAD_WINDOW, .limit = 1, .roots = { of_thread(0, 0) } },
			   { .window = GLOBAL_WINDOW,
			     .limit = 1,
			     .roots = { shared(places->current, 1) } },
			   resumer_frames(1),
			   resumer_frames(2),
			   resumer_frames(3),
			   resumer_frames(4),
			   resumer_frames(5) },
		.kept = { .words = KEPT_WORDS,
			  .type_at = TYPE_WORD,
			  .type_mask = TYPE_BITS,
			  .type = LUAJIT_TYPE_OF_THREAD << TYPE_SHIFT,
			  .shared_at = THREAD_GLOBAL,
			  .one_at = places->first_thread,
			  .current_at = places->current,
			  .frame_at = THREAD_CFRAME,
			  .frame_previous = LUAJIT_CFRAME_PREVIOUS,
			  .frame_size = CFRAME_SIZE,
			  .frame_owner = LUAJIT_CFRAME_THREAD },
		.word = { .pointer = FRAME_FUNCTION,
			  .pointer_mask = (1ULL << LUAJIT_POINTER_BITS) - 1,
			  .n_loads = 1,
			  .loads = { FUNCTION_PC },
			  .less = PROTO_SIZE },
		.object = proto(),
	};
}

static void describe(const struct loaded_image *image, const struct luajit_places *places,
		     struct runtime *ret)
{
	size_t used;

	snprintf(ret->layout, sizeof(ret->layout),
		 "frame.function=%d frame.proto=%d frame.continuation=%d frame.continuation.pc=%d "
		 "frame.link=%d thread.stack=%d thread.cframe=%d global.jit_base=%d cframe.size=%d "
		 "proto.size=%d proto.count=%d proto.line=%d proto.lines=%d proto.total=%d "
		 "proto.constants=%d text=%d text.length=%d left=%" PRIu64,
		 FRAME_FUNCTION, FRAME_WINDOW, FRAME_CONTINUATION, FRAME_CONTINUATION_PC,
		 FRAME_LINK, THREAD_STACK, THREAD_CFRAME, GLOBAL_JIT_BASE, CFRAME_SIZE, PROTO_SIZE,
		 PROTO_N_CODE, PROTO_LINE, PROTO_N_LINES, PROTO_TOTAL, PROTO_CONSTANTS, STRING_TEXT,
		 STRING_LENGTH, image->bias + places->left);
	for (size_t i = 0; i < places->n_torn; i++) {
		used = strlen(ret->layout);
		snprintf(ret->layout + used, sizeof(ret->layout) - used, " torn%zu=%" PRIu64, i,
			 image->bias + places->torn[i]);
	}
	interpreter_loop_describe(&places->loop, image->bias, ret->layout, sizeof(ret->layout));
}

enum runtime_state luajit_find(const struct loaded_image *image, struct runtime *ret)
{
	struct luajit_places places = { 0 };
	GElf_Sym symbol;

	if (!loaded_image_find_symbol(image, "luaJIT_setmode", &symbol))
		return RUNTIME_NONE;
	if (!find_places(image, &places))
		return RUNTIME_OTHER_BUILD;
	ret->walk = make_walk(image, &places);
	describe(image, &places, ret);
	return RUNTIME_KNOWN;
}
