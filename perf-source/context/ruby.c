/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where Ruby (MRI) has the frames of its thread: an array (rb_control_frame_t) that the current
 * execution context leads to, which is a variable of the thread. Each frame has a word with what it
 * is; C functions have frames, too. The loop (vm_exec_core) is not exported.
 */
#include <stdio.h>
#include <string.h>

#include "perf-source/context/runtime.h"
#include "perf-source/image/interpreter-loop.h"
#include "perf-source/image/thread-variable.h"

enum {
	RUBY_3 = 3,
	FRAMES_MAX = 512,
	WORD = 8,
	/* rb_execution_context_t (vm_core.h), and its thread, which rb_thread_current() reads. */
	CONTEXT_FRAME = 16,
	CONTEXT_THREAD = 48,
	/* rb_control_frame_t. */
	FRAME_PC = 0,
	FRAME_SP = 8,
	FRAME_ISEQ = 16,
	FRAME_EP = 32, /* leads to the word with flags */
	/* The outermost frame: VM_FRAME_MAGIC_DUMMY with FINISH; and those of C functions. */
	FRAME_KIND = 0x7fff0021,
	OUTERMOST = 0x79990021,
	OF_C = 0x80,
	/* struct rb_iseq_constant_body. */
	ISEQ_BODY = 16, /* rb_iseq_t.body */
	BODY_COUNT = 4, /* words of code */
	BODY_CODE = 8,
	BODY_PATH = 64,
	BODY_LABEL = 80,
	BODY_LINE = 88,
	/* struct RString, and RArray: flags, class, length or the first element. */
	KINDS = 0x201f, /* of flags: the type; a text is elsewhere, or elements are here */
	STRING = 0x0005,
	STRING_ELSEWHERE = 0x2005,
	ARRAY = 0x2007,
	ARRAY_FIRST = 16,
	STRING_LENGTH = 2, /* words */
	STRING_POINTER = 3,
	TEXT_READ = 256,
	ENTRY = 12, /* struct iseq_insn_info_entry */
	ENTRIES_READ = 340 * ENTRY,
	/* struct succ_index_table: for 54 words of code, and blocks of 80 bytes for 512 more. */
	POSITIONS_MIN = 128,
	POSITIONS_BLOCK = 80,
	POSITIONS_OF_BLOCK = 512,
	POSITIONS_READ = 3032, /* with all the rest, what one record can have */
	PARTS = 64,	       /* in which sizes are counted */
	MADE_WORDS = 16,
};

/* Bytes in structures. */
struct ruby_layout {
	uint8_t minor;
	uint8_t frame;			       /* sizeof(rb_control_frame_t) */
	uint8_t entries, n_entries, positions; /* iseq_insn_info */
	uint8_t text; /* behind the head of a string; in 3.1 short ones are in it, with their */
	uint8_t short_length; /* length in bits of the flags; 0: as of others */
	uint8_t line_shift;   /* of first_lineno */
	/*
	 * Of a frame of YJIT's code, which executes several functions of the script: it has three
	 * words, or five (--yjit-perf), and as many registers more while it makes further code. 0:
	 * there is none, or (3.1) it enters a frame before that is written.
	 */
	uint8_t made_words;
};

static const struct ruby_layout layouts[] = {
	{ 1, 64, 120, 136, 144, 40, 14, 1, 0 },
	{ 2, 64, 112, 128, 136, 24, 0, 0, MADE_WORDS },
	{ 3, 56, 112, 128, 136, 24, 0, 0, MADE_WORDS },
	{ 4, 56, 112, 128, 136, 24, 0, 0, MADE_WORDS },
};

static const struct ruby_layout *find_layout(const struct loaded_image *image,
					     const GElf_Sym *version,
					     char ret[RUNTIME_VERSION_SIZE])
{
	unsigned int major, minor, patch;
	char text[RUNTIME_VERSION_SIZE] = "";

	if (!loaded_image_read(image, version->st_value, text,
			       version->st_size < sizeof(text) ? version->st_size
							       : sizeof(text) - 1) ||
	    sscanf(text, "%3u.%3u.%3u", &major, &minor, &patch) != 3)
		return NULL;
	snprintf(ret, RUNTIME_VERSION_SIZE, "%u.%u.%u", major, minor, patch);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (major == RUBY_3 && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

static uint32_t word(int offset)
{
	return 1U << (offset / WORD);
}

static uint16_t body_size(const struct ruby_layout *layout)
{
	return layout->positions + WORD;
}

/* A string. Of a short one in its head all words of the head count. */
static struct walk_text string_at(const struct ruby_layout *layout, int pointer)
{
	uint16_t behind_class = 1U << 2 | 1U << 3 | 1U << 4;

	return (struct walk_text){
		.pointer = pointer,
		.size = layout->text + TEXT_READ,
		.skip = layout->text,
		.words = layout->short_length ? behind_class : 1U << STRING_LENGTH,
		.length = STRING_LENGTH,
		.inside_length = layout->short_length ? 0 : STRING_LENGTH,
		.outside_at = STRING_POINTER,
		.kinds = KINDS,
		.inside = STRING,
		.outside = STRING_ELSEWHERE,
	};
}

static struct walk_object instructions(const struct ruby_layout *layout)
{
	struct walk_object object = {
		.pointer_mask = UINT64_MAX,
		.words = word(BODY_COUNT) | word(BODY_CODE) | word(BODY_PATH) | word(BODY_LABEL) |
			 word(BODY_LINE) | word(BODY_LINE + WORD) | word(BODY_LINE + 2 * WORD) |
			 word(layout->entries) | word(layout->positions),
		.pointer = FRAME_ISEQ,
		.load = ISEQ_BODY,
		.size = body_size(layout),
		.kind_at = layout->frame,
		.kind_mask = OF_C,
		.texts = { string_at(layout, BODY_LABEL), string_at(layout, BODY_PATH),
			   string_at(layout, ARRAY_FIRST) },
	};

	/* A path is a string, or an array of it and of the real one. */
	object.texts[2].of = 2;
	object.texts[2].of_kind = ARRAY;
	object.texts[3] = (struct walk_text){ .pointer = layout->entries,
					      .size = ENTRIES_READ,
					      .sized_by = layout->n_entries,
					      .size_scale = ENTRY * PARTS };
	object.texts[4] =
		(struct walk_text){ .pointer = layout->positions,
				    .size = POSITIONS_READ,
				    .sized_by = BODY_COUNT,
				    .size_base = POSITIONS_MIN,
				    .size_scale = POSITIONS_BLOCK * PARTS / POSITIONS_OF_BLOCK };
	return object;
}

static struct walk_program make_walk(const struct ruby_layout *layout, struct walk_root root)
{
	root.loads[root.n_loads - 1] = CONTEXT_FRAME;
	root.loads[root.n_loads++] = 0;
	return (struct walk_program){
		.lists = { {
			.window = layout->frame,
			.stride = layout->frame,
			.limit = FRAMES_MAX,
			.roots = { root },
		} },
		.word = { .pointer = FRAME_EP,
			  .pointer_mask = UINT64_MAX,
			  .n_loads = 1,
			  .last_mask = FRAME_KIND,
			  .last = OUTERMOST },
		.object = instructions(layout),
	};
}

static void describe(const struct ruby_layout *layout, struct runtime *ret)
{
	snprintf(ret->layout, sizeof(ret->layout),
		 "frame.pc=%d frame.sp=%d frame.iseq=%d frame.flags=%d body.size=%d body.count=%d "
		 "body.code=%d body.line=%d body.entries=%d line.shift=%d text=%d text.length=%d "
		 "text.short=%d made.words=%d",
		 FRAME_PC, FRAME_SP, FRAME_ISEQ, layout->frame, body_size(layout), BODY_COUNT,
		 BODY_CODE, BODY_LINE, layout->n_entries, layout->line_shift, layout->text,
		 STRING_LENGTH * WORD, layout->short_length ? layout->short_length : -1,
		 layout->made_words);
}

enum runtime_state ruby_find(const struct loaded_image *image, struct runtime *ret)
{
	const struct ruby_layout *layout;
	struct interpreter_loop loop;
	GElf_Sym version, reader;
	struct walk_root root;

	if (!loaded_image_find_symbol(image, "ruby_version", &version) ||
	    !loaded_image_find_symbol(image, "rb_thread_current", &reader))
		return RUNTIME_NONE;
	layout = find_layout(image, &version, ret->version);
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	if (!thread_variable_find_root(image, &reader, CONTEXT_THREAD, &root) ||
	    !interpreter_loop_find_threaded(image, &loop))
		return RUNTIME_OTHER_BUILD;
	ret->walk = make_walk(layout, root);
	describe(layout, ret);
	interpreter_loop_describe(&loop, image->bias, ret->layout, sizeof(ret->layout));
	return RUNTIME_KNOWN;
}
