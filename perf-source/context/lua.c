/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where Lua 5.4 and 5.5 have the calls of its threads (coroutines): a list (CallInfo) from each
 * lua_State on. No variable leads to the one that is executed, but it is an argument of nearly
 * every function, so the stack keeps it. The loop (luaV_execute) is not exported.
 */
#include <stdio.h>
#include <string.h>

#include "perf-source/context/runtime.h"
#include "perf-source/image/interpreter-loop.h"

enum {
	CALLS_MAX = 256, /* of each thread */
	IDENT_READ = 64,
	WORD = 8,
	/* lua_State (lstate.h); all objects have their type in a byte. */
	TYPE_WORD = 8,
	TYPE_BITS = 0xff,
	TYPE_OF_THREAD = 8,
	THREAD_GLOBAL = 24,
	THREAD_CALL = 32,
	KEPT_WORDS = 512,
	/* CallInfo. */
	CALL_WINDOW = 64,
	CALL_FUNCTION = 0,
	CALL_PREVIOUS = 16,
	CALL_NEXT = 24,
	CALL_PC = 32,
	CALL_STATUS = 60,
	/* LClosure, and Proto (lobject.h). */
	CLOSURE_PROTO = 24,
	PROTO_SIZE = 128,
	TYPE_OF_PROTO = 10,
	PROTO_N_CODE = 24,
	PROTO_N_LINES = 28,
	PROTO_N_MARKS = 40,
	PROTO_LINE = 44,
	PROTO_CODE = 64,
	PROTO_LINES = 88,
	PROTO_MARKS = 96,
	PROTO_SOURCE = 112,
	/* TString: its head, and how long one is. */
	STRING_TEXT = 24,
	STRING_SHORT = 11,
	STRING_LONG = 16,
	STRING_FAR = 32, /* from 5.5 on, the text of one that is not short */
	SOURCE_READ = STRING_TEXT + 256,
	LINES_READ = 2048,
	MARK = 8, /* AbsLineInfo */
	MARKS_READ = 512,
	PARTS = 64, /* in which sizes are counted */
	CODE_READ = 64,
};

/* What versions have differently: bits of a call's status, and how a thread is found. */
struct lua_layout {
	unsigned int major, minor;
	uint8_t of_c, fresh; /* in 4 bytes at CALL_STATUS (CIST_C, CIST_FRESH), counted from 0 */
	bool is_within;	     /* the first thread is part of what all share */
	uint32_t status; /* bits of a thread's word with its type: 0 in those that are executed */
	/* How lua_pushthread() compares with the first one: in front of its place there. */
	uint8_t compares[3], compares_size;
};

static const struct lua_layout layouts[] = {
	/* cmp %rdi,N(%rax); and: add $N,%rax */
	{ 5, 4, 17, 18, false, 0xff << 16, { 0x48, 0x39, 0xb8 }, 3 },
	{ 5, 5, 15, 16, true, 0xffU << 24, { 0x48, 0x05 }, 2 },
};

/* "$LuaVersion: Lua 5.4.4  Copyright …". NULL: it is not known. */
static const struct lua_layout *find_layout(const struct loaded_image *image, const GElf_Sym *ident,
					    char ret_version[RUNTIME_VERSION_SIZE])
{
	char text[IDENT_READ + 1] = "";
	unsigned int major, minor, patch;

	if (!loaded_image_read(image, ident->st_value, text, IDENT_READ) ||
	    sscanf(text, "$LuaVersion: Lua %3u.%3u.%3u", &major, &minor, &patch) != 3)
		return NULL;
	snprintf(ret_version, RUNTIME_VERSION_SIZE, "%u.%u.%u", major, minor, patch);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/*
 * Where what all threads share has the first of them: lua_pushthread() compares its argument with
 * that. It also shows where a thread has what they share.
 */
static bool find_first_thread(const struct loaded_image *image, const struct lua_layout *layout,
			      uint16_t *ret)
{
	static const uint8_t loads[] = { 0x48, 0x8b, 0x47, THREAD_GLOBAL };
	uint8_t code[CODE_READ];
	const uint8_t *at;
	GElf_Sym function;
	uint32_t offset;

	if (!loaded_image_find_symbol(image, "lua_pushthread", &function) ||
	    !loaded_image_read(image, function.st_value, code, sizeof(code)))
		return false;
	at = memmem(code, sizeof(code), loads, sizeof(loads));
	if (at)
		at = memmem(at, code + sizeof(code) - sizeof(offset) - at, layout->compares,
			    layout->compares_size);
	if (!at)
		return false;
	memcpy(&offset, at + layout->compares_size, sizeof(offset));
	*ret = offset;
	return offset % WORD == 0 && offset <= UINT16_MAX;
}

static uint32_t word(int offset)
{
	return 1U << (offset / WORD);
}

static struct walk_object proto(const struct lua_layout *layout)
{
	return (struct walk_object){
		.pointer_mask = UINT64_MAX,
		.words = word(PROTO_N_CODE) | word(PROTO_LINE) | word(PROTO_CODE) |
			 word(PROTO_LINES) | word(PROTO_SOURCE),
		.pointer = CALL_WINDOW, /* the word behind */
		.size = PROTO_SIZE,
		.type_at = TYPE_WORD,
		.type_mask = TYPE_BITS,
		.type = TYPE_OF_PROTO,
		.kind_at = CALL_STATUS,
		.kind_mask = 1U << layout->of_c,
		.texts = { { .pointer = PROTO_SOURCE,
			     .size = SOURCE_READ,
			     .words = word(STRING_SHORT) | word(STRING_LONG) | word(STRING_TEXT) },
			   { .pointer = PROTO_LINES,
			     .size = LINES_READ,
			     .sized_by = PROTO_N_LINES,
			     .size_scale = PARTS },
			   { .pointer = PROTO_MARKS,
			     .size = MARKS_READ,
			     .sized_by = PROTO_N_MARKS,
			     .size_scale = MARK * PARTS } },
	};
}

/* The calls of a thread that the stack keeps, the nearest first. */
static struct walk_list calls_of(uint8_t thread)
{
	return (struct walk_list){
		.window = CALL_WINDOW,
		.next = CALL_PREVIOUS,
		.limit = CALLS_MAX,
		.is_like_first = true,
		.kept = thread,
		.roots = { { .base = WALK_BASE_KEPT,
			     .start = THREAD_CALL,
			     .n_loads = 1,
			     .self = -1 } },
	};
}

static struct walk_program make_walk(const struct lua_layout *layout, uint16_t first_thread)
{
	return (struct walk_program){
		.lists = { calls_of(0), calls_of(1), calls_of(2), calls_of(3), calls_of(4),
			   calls_of(5), calls_of(6), calls_of(7) },
		.kept = { .words = KEPT_WORDS,
			  .type_at = TYPE_WORD,
			  .type_mask = TYPE_BITS | layout->status,
			  .type = TYPE_OF_THREAD,
			  .shared_at = THREAD_GLOBAL,
			  .one_at = first_thread,
			  .is_within = layout->is_within },
		.word = { .pointer = CALL_FUNCTION,
			  .pointer_mask = UINT64_MAX,
			  .n_loads = 2,
			  .loads = { 0, CLOSURE_PROTO } },
		.object = proto(layout),
	};
}

static void describe(const struct lua_layout *layout, struct runtime *ret)
{
	int far = layout->is_within ? STRING_FAR : STRING_TEXT;

	snprintf(
		ret->layout, sizeof(ret->layout),
		"call.proto=%d call.next=%d call.pc=%d call.status=%d proto.size=%d proto.code=%d "
		"proto.count=%d proto.line=%d text=%d text.short=%d text.long=%d text.far=%d call.c=%d "
		"call.fresh=%d",
		CALL_WINDOW, CALL_NEXT, CALL_PC, CALL_STATUS, PROTO_SIZE, PROTO_CODE, PROTO_N_CODE,
		PROTO_LINE, STRING_TEXT, STRING_SHORT, STRING_LONG, far, layout->of_c,
		layout->fresh);
}

enum runtime_state lua_find(const struct loaded_image *image, struct runtime *ret)
{
	const struct lua_layout *layout;
	struct interpreter_loop loop;
	uint16_t first_thread;
	GElf_Sym maker, ident;

	if (!loaded_image_find_symbol(image, "lua_newstate", &maker) ||
	    !loaded_image_find_symbol(image, "lua_ident", &ident))
		return RUNTIME_NONE;
	layout = find_layout(image, &ident, ret->version);
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	if (!find_first_thread(image, layout, &first_thread) ||
	    !interpreter_loop_find_large(image, &loop))
		return RUNTIME_OTHER_BUILD;
	ret->walk = make_walk(layout, first_thread);
	describe(layout, ret);
	interpreter_loop_describe(&loop, image->bias, ret->layout, sizeof(ret->layout));
	return RUNTIME_KNOWN;
}
