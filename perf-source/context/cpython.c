/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where CPython has the frames of a thread: the walk program is made of its layout, and of where
 * the function that reads it finds the state of a thread. Builds may differ, so the key of the
 * thread states counts only if that function refers to it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf-source/context/cpython-layout.h"
#include "perf-source/context/cpython-version.h"
#include "perf-source/context/runtime.h"
#include "perf-source/image/interpreter-loop.h"
#include "perf-source/image/thread-variable.h"

enum {
	FRAMES_MAX = 512,
	CFRAMES_MAX = 64,
	CFRAME_WINDOW = 24,
	QUALNAME_READ = 304, /* of a string: its head and 255 characters */
	FILENAME_READ = 304,
	LINETABLE_READ = 1536,
	WORD = 8,
	SIZED_HEAD = 16,   /* bytes of PyBytesObject behind PyObject: ob_size, ob_shash */
	TYPE_SIZE = 16,	   /* of PyTypeObject behind PyObject: ob_size, tp_name, tp_basicsize */
	COPIES_BEGIN = 8,  /* _PyCodeArray.entries */
	VERSION_PART = 32, /* sizes and the first line of code, and its version at the end */
};

/*
 * The words of a code object that its creation sets, from its type on: that, sizes, constants,
 * names, texts.
 */
#define CODE_WORDS 0x1ffdfU

/* Up to 3.10: its type, sizes, constants, names, texts. */
#define OLD_CODE_WORDS 0x7fffU

/*
 * The head of a string or of bytes (PyASCIIObject, PyBytesObject): its type and size never change,
 * nor does its hash if it has one. A string says how many bytes a character has.
 */
#define TEXT_WORDS 0x3U
enum {
	/* Words behind the object's head. */
	TEXT_LENGTH = 0,
	TEXT_HASH = 1,
	TEXT_STATE = 2,
	/* Bits of the state from that of the kind on; else PyCompactUnicodeObject has more: */
	TEXT_IS_ASCII = 4,
	HEAD_OF_3_11 = 48,
	MORE_IN_3_11 = 24,
	MORE = 16,
};

/* The root by the key of thread states: from a state on to its frame, or its cframe. */
static struct walk_root root_by_key(const struct cpython_layout *layout, uint64_t runtime)
{
	return (struct walk_root){
		.base = WALK_BASE_THREAD_KEY,
		.start = runtime + layout->key + sizeof(int32_t), /* behind its flag */
		.flag = -(int)sizeof(int32_t),
		.self = -1,
	};
}

/* The root by the state that has the GIL, if it is that of the thread. */
static struct walk_root root_by_current(const struct cpython_layout *layout, uint64_t runtime)
{
	if (layout->current == CPYTHON_NONE)
		return (struct walk_root){ .base = WALK_BASE_NONE };
	return (struct walk_root){
		.base = WALK_BASE_ADDRESS,
		.start = runtime + layout->current,
		.self = layout->current_id,
	};
}

/* How a thread's state is found, with the code of the function that does so. False: not known. */
static bool find_roots(const struct loaded_image *image, const struct cpython_layout *layout,
		       const GElf_Sym *runtime, struct walk_root roots[WALK_ROOTS_MAX])
{
	uint64_t address = image->bias + runtime->st_value;
	GElf_Sym function;
	int64_t offset;

	if (!loaded_image_find_symbol(image, "PyGILState_GetThisThreadState", &function))
		return false;
	if (layout->key != CPYTHON_NONE) {
		roots[0] = root_by_current(layout, address);
		roots[1] = root_by_key(layout, address);
		return loaded_image_refers_to(image, &function, runtime, layout->key);
	}
	if (!thread_variable_find(image, &function, &offset))
		return false;
	roots[0] = (struct walk_root){ .base = WALK_BASE_THREAD, .start = offset, .self = -1 };
	return true;
}

static void add_load(struct walk_list *list, int offset)
{
	for (size_t i = 0; i < WALK_ROOTS_MAX; i++)
		if (list->roots[i].base != WALK_BASE_NONE)
			list->roots[i].loads[list->roots[i].n_loads++] = offset;
}

static struct walk_list make_list(const struct walk_root roots[WALK_ROOTS_MAX], uint16_t window,
				  uint16_t next, uint16_t limit)
{
	return (struct walk_list){
		.roots = { roots[0], roots[1] },
		.window = window,
		.next = next,
		.limit = limit,
	};
}

/* Up to whole words, as windows are. */
static uint16_t whole_words(int size)
{
	return (size + 7) & ~7;
}

static struct walk_text bytes_at(const struct cpython_layout *layout, int pointer, uint16_t size)
{
	int words = layout->object / WORD;

	return (struct walk_text){
		.pointer = pointer,
		.size = size,
		.skip = layout->object + SIZED_HEAD,
		.words = TEXT_WORDS << (words - 1),
		.length = words + TEXT_LENGTH,
		.hash = words + TEXT_HASH,
	};
}

static struct walk_text string_at(const struct cpython_layout *layout, int pointer, uint16_t size)
{
	struct walk_text text = bytes_at(layout, pointer, size);

	text.skip = layout->text;
	text.unit = layout->object / WORD + TEXT_STATE;
	text.unit_shift = layout->text_kind;
	text.plain = layout->text_kind + TEXT_IS_ASCII;
	text.more = layout->text == HEAD_OF_3_11 ? MORE_IN_3_11 : MORE;
	return text;
}

/* Where the copy of the instructions begins that a frame executes. */
static struct walk_word copy_of_instructions(const struct cpython_layout *layout)
{
	if (layout->frame_copy == CPYTHON_NONE)
		return (struct walk_word){ 0 };
	return (struct walk_word){
		.pointer = layout->frame_code,
		.pointer_mask = ~(uint64_t)layout->frame_tags,
		.index = layout->frame_copy,
		.index_scale = sizeof(uint64_t),
		.n_loads = 2,
		.loads = { layout->code_copies, COPIES_BEGIN },
	};
}

static void make_walk(const struct cpython_layout *layout, uint64_t type,
		      const struct walk_root roots[WALK_ROOTS_MAX], struct walk_program *ret)
{
	struct walk_list *frames = &ret->lists[0], *cframes = &ret->lists[1];

	*frames = make_list(roots, whole_words(layout->frame_size), layout->frame_previous,
			    FRAMES_MAX);
	if (layout->cframe != CPYTHON_NONE) {
		*cframes = make_list(roots, CFRAME_WINDOW, layout->cframe_previous, CFRAMES_MAX);
		add_load(cframes, layout->cframe);
		add_load(cframes, 0);
		add_load(frames, layout->cframe);
		add_load(frames, layout->cframe_frame);
	} else {
		add_load(frames, layout->current_frame);
	}
	add_load(frames, 0);
	ret->word = copy_of_instructions(layout);
	ret->object = (struct walk_object){
		.pointer_mask = ~(uint64_t)layout->frame_tags,
		.words = (layout->frame_unit ? OLD_CODE_WORDS : CODE_WORDS)
			 << (layout->object / WORD - 1),
		.pointer = layout->frame_code,
		.size = whole_words(layout->code_bytes),
		.type_at = layout->object - WORD,
		.type = type,
		.texts = {
			string_at(layout, layout->code_qualname, QUALNAME_READ),
			string_at(layout, layout->code_filename, FILENAME_READ),
			bytes_at(layout, layout->code_linetable, LINETABLE_READ),
		},
	};
	if (layout->code_version == CPYTHON_NONE)
		return;
	ret->object.part = layout->code_version + sizeof(uint32_t) - VERSION_PART;
	ret->object.part_size = VERSION_PART;
	ret->object.unique = VERSION_PART - sizeof(uint32_t);
}

static void describe(const struct cpython_layout *layout, uint64_t type, struct runtime *ret)
{
	snprintf(
		ret->layout, sizeof(ret->layout),
		"frame.code=%d frame.previous=%d frame.instruction=%d frame.owner=%d frame.entry=%d "
		"frame.tags=%d cframe.frame=%d cframe.previous=%d code.filename=%d code.qualname=%d "
		"code.linetable=%d code.firstline=%d code.bytes=%d code.size=%d "
		"code.framesize=%d code.stacksize=%d code.nlocalsplus=%d frame.size=%d "
		"code.type=%" PRIu64 " text=%d bytes=%d frame.copy=%d object=%d text.kind=%d",
		layout->frame_code, layout->frame_previous, layout->frame_instruction,
		layout->frame_owner, layout->frame_entry, layout->frame_tags, layout->cframe_frame,
		layout->cframe_previous, layout->code_filename, layout->code_qualname,
		layout->code_linetable, layout->code_firstline, layout->code_bytes,
		whole_words(layout->code_bytes), layout->code_framesize, layout->code_stacksize,
		layout->code_nlocalsplus, layout->frame_size, type, layout->text,
		layout->object + SIZED_HEAD,
		layout->frame_copy == CPYTHON_NONE ? CPYTHON_NONE : whole_words(layout->frame_size),
		layout->object, layout->text_kind);
}

/* Likewise, if frames are objects: each is found in an activation of the loop. */
static void describe_objects(const struct cpython_layout *layout, uint64_t type,
			     struct runtime *ret)
{
	snprintf(ret->layout, sizeof(ret->layout),
		 "frame.code=%d frame.previous=%d frame.index=%d frame.unit=%d frame.state=%d "
		 "frame.executing=%d code.filename=%d code.qualname=%d code.linetable=%d "
		 "code.lines=%d code.firstline=%d code.size=%d code.type=%" PRIu64
		 " text=%d bytes=%d",
		 layout->frame_code, layout->frame_previous, layout->frame_index,
		 layout->frame_unit, layout->frame_state, layout->frame_executing,
		 layout->code_filename, layout->code_qualname, layout->code_linetable,
		 layout->lines, layout->code_firstline, whole_words(layout->code_bytes), type,
		 layout->text, layout->object + SIZED_HEAD);
}

/* The layout of a version as this process has it. */
static enum runtime_state find_layout(const struct loaded_image *image, const GElf_Sym *runtime,
				      uint32_t version, struct cpython_layout *ret)
{
	const struct cpython_layout *known;
	uint64_t table[CPYTHON_OFFSETS_SIZE / sizeof(uint64_t)];

	if (!loaded_image_read(image, runtime->st_value, table, sizeof(table)))
		return RUNTIME_OTHER_BUILD;
	known = cpython_layout_find(version, table);
	if (!known)
		return cpython_layout_is_free_threaded(version, table) ? RUNTIME_WITHOUT_GIL
								       : RUNTIME_OTHER_VERSION;
	*ret = *known;
	return cpython_layout_take(ret, version, table) ? RUNTIME_KNOWN : RUNTIME_OTHER_BUILD;
}

/* Whether a type has objects of so many bytes (PyTypeObject.tp_basicsize). */
static bool has_size(const struct loaded_image *image, const struct cpython_layout *layout,
		     const GElf_Sym *type, uint64_t expected)
{
	uint64_t size;

	return loaded_image_read(image, type->st_value + layout->object + TYPE_SIZE, &size,
				 sizeof(size)) &&
	       size == expected;
}

/* Describes frames that are objects. RUNTIME_KNOWN, or RUNTIME_OTHER_BUILD. */
static enum runtime_state find_objects(const struct loaded_image *image,
				       const struct cpython_layout *layout, const GElf_Sym *code,
				       struct runtime *ret)
{
	struct interpreter_loop loop;
	GElf_Sym frame;

	if (!loaded_image_find_symbol(image, "PyFrame_Type", &frame) ||
	    !has_size(image, layout, &frame, layout->frame_object) ||
	    !has_size(image, layout, code, layout->code_object) ||
	    !interpreter_loop_find(image, "_PyEval_EvalFrameDefault", &loop))
		return RUNTIME_OTHER_BUILD;
	describe_objects(layout, image->bias + code->st_value, ret);
	interpreter_loop_describe(&loop, image->bias, ret->layout, sizeof(ret->layout));
	return RUNTIME_KNOWN;
}

enum runtime_state cpython_find(const struct loaded_image *image, struct runtime *ret)
{
	struct walk_root roots[WALK_ROOTS_MAX] = { 0 };
	GElf_Sym runtime, type;
	struct cpython_layout layout;
	enum runtime_state state;
	uint32_t version;

	if (!loaded_image_find_symbol(image, "_PyRuntime", &runtime) ||
	    !loaded_image_find_symbol(image, "PyCode_Type", &type))
		return RUNTIME_NONE;
	version = cpython_version_find(image);
	if (!version)
		return RUNTIME_OTHER_VERSION;
	snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", version >> 24,
		 version >> 16 & 0xff, version >> 8 & 0xff);
	state = find_layout(image, &runtime, version, &layout);
	if (state != RUNTIME_KNOWN)
		return state;
	if (!find_roots(image, &layout, &runtime, roots))
		return RUNTIME_OTHER_BUILD;
	make_walk(&layout, image->bias + type.st_value, roots, &ret->walk);
	if (layout.frame_unit)
		return find_objects(image, &layout, &type, ret);
	describe(&layout, image->bias + type.st_value, ret);
	return RUNTIME_KNOWN;
}
