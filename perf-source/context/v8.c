/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where V8 has the functions of its frames. Its frames are a list from frame pointer to frame
 * pointer, through JavaScript, builtins and stubs; one that C++ has begun has that of the frame
 * which called C++ before. Each frame of JavaScript has its function; what an optimizing compiler
 * has made of it has the calls that it has replaced by their functions, in the object of the code.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/script/v8-pieces.h"
#include "perf-source/context/runtime.h"
#include "perf-source/context/v8-layout.h"
#include "perf-source/context/walk-root.h"
#include "perf-source/image/first-load.h"
#include "perf-source/image/thread-variable.h"
#include "perf-source/image/tls-variable.h"

enum {
	WORD = 8,
	VERSION_READ = 24, /* bytes of V8's version */
	FRAMES_MAX = 512,
	/* A frame (frame-constants-x64.h); a window begins so many bytes in front of it. */
	FRAME_BEFORE = 64,
	FRAME_WINDOW = 80,
	FRAME_C_ENTRY = FRAME_BEFORE - 64, /* EntryFrameConstants::kNextExitFrameFPOffset */
	FRAME_BYTECODE = FRAME_BEFORE - 32,
	FRAME_FUNCTION = FRAME_BEFORE - 16,
	FRAME_CONTEXT = FRAME_BEFORE - 8, /* or what kind of frame it is, which is no address */
	FRAME_CALLER = FRAME_BEFORE,
	FRAME_RETURN = FRAME_BEFORE + 8,
	ENTRY_MARK = 1 << 1, /* StackFrame::TypeToMarker(ENTRY), */
	CONSTRUCT_ENTRY_MARK = 2 << 1,
	IS_OBJECT = 1, /* bit of a word that is the address of an object */
	FUNCTION_SIZE = 72,
	MAP_READ = 16, /* which has the instance type: */
	MAP_TYPE = 12,
	SCOPE_LOCALS = 3, /* ScopeInfo: the word with the number of names of variables, */
	SCOPE_LOCAL = 16, /* bytes of each, as long as there are not more than: */
	SCOPE_LOCALS_MAX = 74,
	SCOPE_TABLE = 8,	/* else all names are in a table, */
	SCOPE_LOCAL_BEYOND = 8, /* and of each local there is less */
	SCOPE_READ = 64,
	SCOPE_INFERRED = 16, /* behind the name of the function */
	WORDS_READ = 40,     /* name, a number, inferred name, and two words behind them */
	SCRIPT_SOURCE = 8,
	SCRIPT_NAME = 16,
	SCRIPT_LINE = 24, /* of its first line, from 0 on */
	SCRIPT_ID = 64,
	SCRIPT_WORDS = 1 << 1 | 1 << 2 | 1 << 8, /* source, name, id */
	SCRIPT_READ = 72,
	STRING_WORDS = 1 << 1, /* hash and length */
	STRING_READ = 272,
	CODE_SIZE = 64,
	CODE_STEP = 64,
	CODE_STEPS = WALK_STEPS_MAX,
	POSITIONS_READ = WALK_TEXT_MAX,
	DATA_READ = 96,
	DATA_COUNT = 24, /* DeoptimizationData: functions that are inlined */
	INLININGS_READ = 16 + 16 * 96,
	ARRAY_ITEMS = 16,
	FUNCTIONS_READ = ARRAY_ITEMS + WORD * WALK_MEMBERS_MAX,
	OWN_READ = 16,
};

/* Reads "12.4.254.21-node.33". False: it is another text. */
static bool parse_version(const char *text, unsigned int *ret_major, unsigned int *ret_minor,
			  char ret[RUNTIME_VERSION_SIZE])
{
	unsigned int build, patch;

	if (sscanf(text, "%3u.%3u.%3u.%3u-node", ret_major, ret_minor, &build, &patch) != 4)
		return false;
	snprintf(ret, RUNTIME_VERSION_SIZE, "%u.%u.%u.%u", *ret_major, *ret_minor, build, patch);
	return true;
}

/* v8::V8::GetVersion() returns a pointer to a text, which it has in a variable. */
static enum runtime_state find_version(const struct loaded_image *image, unsigned int *ret_major,
				       unsigned int *ret_minor, char ret[RUNTIME_VERSION_SIZE])
{
	char text[VERSION_READ + 1] = "";
	uint64_t variable, pointer;
	GElf_Sym function;

	if (!loaded_image_find_symbol(image, "_ZN2v82V810GetVersionEv", &function))
		return RUNTIME_OTHER_VERSION;
	switch (first_load_find(image, &function, &variable)) {
	case FIRST_LOAD_FOUND:
		break;
	case FIRST_LOAD_NOT_YET:
		return RUNTIME_NOT_YET;
	default:
		return RUNTIME_OTHER_VERSION;
	}
	if (!loaded_image_read(image, variable, &pointer, sizeof(pointer)) ||
	    !loaded_image_read(image, pointer - image->bias, text, VERSION_READ))
		return RUNTIME_NOT_YET;
	return parse_version(text, ret_major, ret_minor, ret) ? RUNTIME_KNOWN
							      : RUNTIME_OTHER_VERSION;
}

/* The addresses of an image's memory. */
static void find_range(const struct loaded_image *image, uint64_t *ret_from, uint64_t *ret_to)
{
	size_t n = 0;
	GElf_Phdr header;

	*ret_from = UINT64_MAX;
	*ret_to = 0;
	elf_getphdrnum(image->elf->elf, &n);
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		if (!gelf_getphdr(image->elf->elf, i, &header) || header.p_type != PT_LOAD)
			continue;
		if (image->bias + header.p_vaddr < *ret_from)
			*ret_from = image->bias + header.p_vaddr;
		if (image->bias + header.p_vaddr + header.p_memsz > *ret_to)
			*ret_to = image->bias + header.p_vaddr + header.p_memsz;
	}
}

static uint32_t word(int offset)
{
	return 1U << (offset / WORD);
}

/* `of`: the piece that has its address, from 1 on; 0: the object. */
static struct walk_text piece(int of, int pointer, int size, int words)
{
	return (struct walk_text){ .of = of, .pointer = pointer, .size = size, .words = words };
}

static const struct walk_source source_of_scripts = {
	.pointer_mask = V8_ADDRESS_MASK,
	.of = 1 + V8_FUNCTION_SCRIPT,
	.number = SCRIPT_ID,
	.name = SCRIPT_NAME,
	.string = SCRIPT_SOURCE,
	.type_at = MAP_TYPE,
	.kinds = V8_STRING_NONE | V8_STRING_UNCACHED | V8_STRING_REPRESENTATION,
	.inside = V8_STRING_SEQUENTIAL,
	.outside = V8_STRING_EXTERNAL,
	.others = { V8_STRING_CONS, V8_STRING_THIN },
	.narrow = V8_STRING_ONE_BYTE,
	.length = V8_STRING_LENGTH_AT,
	.inside_at = V8_STRING_TEXT_AT,
	.outside_at = V8_STRING_OUTSIDE_AT,
	.other_at = V8_STRING_ACTUAL_AT,
};

static struct walk_object function_object(const struct v8_layout *layout)
{
	struct walk_object object = {
		.pointer_mask = V8_ADDRESS_MASK,
		.words = word(layout->scope) | word(layout->script),
		.pointer = FRAME_FUNCTION,
		.load = layout->shared,
		.size = FUNCTION_SIZE,
		.kind_at = FRAME_CONTEXT,
		.kind_mask = IS_OBJECT,
		.kind = IS_OBJECT,
		.source = source_of_scripts,
	};
	struct walk_text *texts = object.texts;
	struct walk_text name =
		piece(1 + V8_FUNCTION_SCOPE, layout->scope_names, STRING_READ, STRING_WORDS);

	name.count = SCOPE_LOCALS;
	name.count_scale = SCOPE_LOCAL;
	name.count_max = SCOPE_LOCALS_MAX;
	name.beyond = SCOPE_TABLE;
	name.beyond_scale = SCOPE_LOCAL_BEYOND;
	texts[V8_FUNCTION_MAP] = piece(0, 0, MAP_READ, 0);
	texts[V8_FUNCTION_SCOPE] = piece(0, layout->scope, SCOPE_READ, layout->scope_words);
	texts[V8_FUNCTION_NAME] = name;
	texts[V8_FUNCTION_NAME_MAP] = piece(1 + V8_FUNCTION_NAME, 0, MAP_READ, 0);
	name.pointer += SCOPE_INFERRED;
	name.words = 0;
	texts[V8_FUNCTION_INFERRED] = name;
	texts[V8_FUNCTION_INFERRED_MAP] = piece(1 + V8_FUNCTION_INFERRED, 0, MAP_READ, 0);
	texts[V8_FUNCTION_SCRIPT] = piece(0, layout->script, SCRIPT_READ, SCRIPT_WORDS);
	texts[V8_FUNCTION_FILE] =
		piece(1 + V8_FUNCTION_SCRIPT, SCRIPT_NAME, STRING_READ, STRING_WORDS);
	texts[V8_FUNCTION_FILE_MAP] = piece(1 + V8_FUNCTION_FILE, 0, MAP_READ, 0);
	texts[V8_FUNCTION_ACTUAL] =
		piece(1 + V8_FUNCTION_FILE, V8_STRING_ACTUAL_AT, STRING_READ, 0);
	texts[V8_FUNCTION_ACTUAL_MAP] = piece(1 + V8_FUNCTION_ACTUAL, 0, MAP_READ, 0);
	texts[V8_FUNCTION_LAST] =
		piece(1 + V8_FUNCTION_ACTUAL, V8_STRING_ACTUAL_AT, STRING_READ, 0);
	texts[V8_FUNCTION_LAST_MAP] = piece(1 + V8_FUNCTION_LAST, 0, MAP_READ, 0);
	name.pointer -= SCOPE_INFERRED;
	name.size = WORDS_READ;
	name.is_here = true;
	texts[V8_FUNCTION_WORDS] = name;
	return object;
}

static struct walk_object code_object(const struct v8_layout *layout)
{
	int own = layout->is_own_wrapped ? 0 : word(layout->own),
	    start = word(layout->code_within ? layout->code_size : layout->code_start);
	struct walk_object object = {
		.pointer_mask = V8_ADDRESS_MASK,
		.words = word(layout->code_data) | word(layout->code_positions) | start,
		.size = CODE_SIZE,
	};
	struct walk_text *texts = object.texts;

	texts[V8_CODE_MAP] = piece(0, 0, MAP_READ, 0);
	texts[V8_CODE_POSITIONS] = piece(0, layout->code_positions, POSITIONS_READ, 0);
	texts[V8_CODE_DATA] =
		piece(0, layout->code_data, DATA_READ,
		      word(DATA_COUNT) | word(layout->literals) | word(layout->optimization) | own);
	texts[V8_CODE_INLININGS] = piece(1 + V8_CODE_DATA, layout->inlinings, INLININGS_READ, 0);
	texts[V8_CODE_FUNCTIONS] = piece(1 + V8_CODE_DATA, layout->literals, FUNCTIONS_READ, 0);
	texts[V8_CODE_OWN] = piece(1 + V8_CODE_DATA, layout->own, OWN_READ,
				   layout->is_own_wrapped ? word(WORD) : 0);
	return object;
}

/*
 * Leads to where a thread has the address of its Isolate: in a variable of its own, or, as in node
 * 18, as the value of a key, which the function loads.
 */
static enum runtime_state find_isolate(const struct loaded_image *image, const GElf_Sym *function,
				       struct walk_root *ret)
{
	struct context_place place = { .kind = CONTEXT_PLACE_STATIC };
	uint64_t key;

	if (thread_variable_find(image, function, &place.offset) ||
	    tls_variable_find(image->elf, image->bias, image->memory,
			      "_ZN2v88internal18g_current_isolate_E", &place) == 0) {
		*ret = walk_root_of_variable(&place);
		return RUNTIME_KNOWN;
	}
	switch (first_load_find(image, function, &key)) {
	case FIRST_LOAD_FOUND:
		*ret = (struct walk_root){ .base = WALK_BASE_THREAD_KEY,
					   .start = image->bias + key,
					   .self = -1 };
		return RUNTIME_KNOWN;
	case FIRST_LOAD_NOT_YET:
		return RUNTIME_NOT_YET;
	default:
		return RUNTIME_OTHER_BUILD;
	}
}

/* What a field of the thread's Isolate holds. */
static struct walk_root root_in(const struct walk_root *isolate, uint16_t field)
{
	struct walk_root root = *isolate;

	walk_root_add(&root, field);
	walk_root_add(&root, 0);
	return root;
}

static struct walk_program make_walk(const struct loaded_image *image,
				     const struct v8_layout *layout,
				     const struct walk_root *isolate)
{
	struct walk_program walk = {
		.lists = { {
			.roots = { [2] = { .base = WALK_BASE_FRAME, .self = -1 } },
			.window = FRAME_WINDOW,
			.next = FRAME_CALLER,
			.limit = FRAMES_MAX,
			.before = FRAME_BEFORE,
			.marks = { ENTRY_MARK, CONSTRUCT_ENTRY_MARK },
			.mark = FRAME_CONTEXT,
			.marked_next = FRAME_C_ENTRY,
			.rises = true,
		} },
		.object = function_object(layout),
		.code = {
			.instruction = FRAME_RETURN,
			.step = CODE_STEP,
			.steps = CODE_STEPS,
			.head = layout->code_head,
			.start = layout->code_start,
			.size = layout->code_size,
			.within = layout->code_within,
			.within_type_at = MAP_TYPE,
			.within_type = layout->code_type,
			.members = ARRAY_ITEMS,
			.members_of = 1 + V8_CODE_FUNCTIONS,
			.count = DATA_COUNT,
			.count_of = 1 + V8_CODE_DATA,
			.kind = layout->code_flags,
			.has_members = 3 << (layout->baseline + 1),
			.object = code_object(layout),
		},
	};

	find_range(image, &walk.code.outside_from, &walk.code.outside_to);
	walk.lists[0].roots[0] = root_in(isolate, layout->c_entry);
	walk.lists[0].roots[1] = root_in(isolate, layout->fast_frame);
	walk.lists[0].instruction = root_in(isolate, layout->fast_instruction);
	/* Others have no frames of JavaScript: a word of theirs may look like one. */
	walk.lists[0].owner = *isolate;
	walk_root_add(&walk.lists[0].owner, 0);
	return walk;
}

static void describe(const struct v8_layout *layout, struct runtime *ret)
{
	snprintf(
		ret->layout, sizeof(ret->layout),
		"frame.function=%d frame.bytecode=%d frame.instruction=%d frame.code=%d "
		"function.size=%d function.data=%d function.script=%d function.type=%d script.line=%d scope.position=%d scope.flags=%d scope.function=%d map.type=%d "
		"code.size=%d code.start=%d code.within=%d code.length=%d code.kind=%d code.data=%d code.type=%d "
		"code.baseline=%d code.steps=%d data.count=%d data.own=%d items=%d",
		FRAME_FUNCTION, FRAME_BYTECODE, FRAME_WINDOW, FRAME_WINDOW + WORD, FUNCTION_SIZE,
		layout->data, layout->script, layout->function_type, SCRIPT_LINE,
		layout->scope_position ? layout->scope_position : -1, layout->scope_flags,
		layout->scope_function, MAP_TYPE, CODE_SIZE,
		layout->code_within ? -1 : layout->code_start,
		layout->code_within ? layout->code_within : -1, layout->code_size,
		layout->code_flags, layout->code_data, layout->code_type, layout->baseline,
		layout->has_shifted_steps, DATA_COUNT, layout->is_own_wrapped ? -1 : layout->own,
		ARRAY_ITEMS);
}

enum runtime_state v8_find(const struct loaded_image *image, struct runtime *ret)
{
	const struct v8_layout *layout;
	unsigned int major, minor;
	struct walk_root isolate;
	enum runtime_state state;
	GElf_Sym function;

	if (!loaded_image_find_symbol(image, "_ZN2v87Isolate10GetCurrentEv", &function))
		return RUNTIME_NONE;
	state = find_version(image, &major, &minor, ret->version);
	if (state != RUNTIME_KNOWN)
		return state;
	layout = v8_layout_find(major, minor);
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	/* Without it nothing could be followed: C++ has no frame pointers. */
	state = find_isolate(image, &function, &isolate);
	if (state != RUNTIME_KNOWN)
		return state;
	ret->walk = make_walk(image, layout, &isolate);
	describe(layout, ret);
	return RUNTIME_KNOWN;
}
