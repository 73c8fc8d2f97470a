/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where PHP 8 has the calls of its thread: a list from executor_globals on. What a call executes is
 * in a register of its activation of execute_ex(), in builds by GCC (ZEND_VM_KIND_HYBRID,
 * Zend/zend_vm_opcodes.h); so each activation's part of the list is found. Builds with threads
 * (ZTS) have no such global.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf-source/context/runtime.h"
#include "perf-source/image/interpreter-loop.h"

enum {
	PHP_8 = 4, /* PHP's major version, as that of the Zend Engine */
	CALLS_MAX = 512,
	/* struct _zend_execute_data (Zend/zend_compile.h), the same in all versions of PHP 8. */
	CALL_WINDOW = 56,
	CALL_OPLINE = 0,
	CALL_FUNCTION = 24,
	CALL_INFO = 40, /* This.u1.type_info */
	CALL_PREVIOUS = 48,
	OPLINE_LINE = 24, /* struct _zend_op.lineno */
	/* union _zend_function: what all functions have. */
	FUNCTION_NAME = 8,
	FUNCTION_SCOPE = 16,
	CLASS_NAME = 8, /* struct _zend_class_entry.name */
	/* struct _zend_string: words of its head, and what is behind it. */
	STRING_HASH = 1,
	STRING_LENGTH = 2,
	STRING_TEXT = 24,
	NAME_READ = 280, /* of a string: its head and 256 characters */
	CLASS_READ = WALK_HEAD_MAX,
	WORD = 8,
	KIND_READ = 16, /* bytes of zend_vm_kind() */
	/* struct _zend_generator (Zend/zend_generators.h). */
	GENERATOR_CALL = 56,
	GENERATOR_PARENT = 152,
	GENERATOR_PLACEHOLDER = 184, /* a call, without a function, of one that delegates */
	RESUME_READ = 1024,	     /* bytes of zend_generator_resume() */
};

/* Offsets in bytes in struct _zend_op_array, and that of the current call in executor_globals. */
struct php_layout {
	uint8_t minor;
	uint16_t opcodes, filename, line;
	uint16_t current_call;
};

static const struct php_layout layouts[] = {
	{ 1, 72, 144, 152, 488 },  { 2, 88, 152, 160, 488 },  { 3, 80, 144, 152, 488 },
	{ 4, 104, 168, 176, 488 }, { 5, 104, 168, 176, 512 }, { 6, 104, 168, 176, 512 },
};

static const struct php_layout *find_layout(unsigned int minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/* The Zend Engine has its version in a text ("4.2.32"); its numbers are PHP's, but for the first.
 */
static bool find_version(const struct loaded_image *image, unsigned int *ret_minor,
			 char ret[RUNTIME_VERSION_SIZE])
{
	char text[RUNTIME_VERSION_SIZE];
	unsigned int major, patch;

	if (!loaded_image_find_text(image, ".rodata", "Zend Engine v", text, sizeof(text)) ||
	    sscanf(text, "%3u.%3u.%3u", &major, ret_minor, &patch) != 3 || major != PHP_8)
		return false;
	snprintf(ret, RUNTIME_VERSION_SIZE, "8.%u.%u", *ret_minor, patch);
	return true;
}

/* Whether what is executed is in registers: `mov $ZEND_VM_KIND_HYBRID,%eax` in zend_vm_kind(). */
static bool has_registers(const struct loaded_image *image)
{
	static const uint8_t expected[] = { 0xb8, 4, 0, 0, 0 };
	uint8_t code[KIND_READ];
	GElf_Sym function;

	return loaded_image_find_symbol(image, "zend_vm_kind", &function) &&
	       loaded_image_read(image, function.st_value, code, sizeof(code)) &&
	       memmem(code, sizeof(code), expected, sizeof(expected));
}

/* Whether generators have these two where they are known: what resumes them reads both. */
static bool has_generators(const struct loaded_image *image, const GElf_Sym *resume)
{
	static const uint32_t places[] = { GENERATOR_PARENT, GENERATOR_PLACEHOLDER };
	uint8_t code[RESUME_READ];
	size_t size = resume->st_size < sizeof(code) ? resume->st_size : sizeof(code);

	return loaded_image_read(image, resume->st_value, code, size) &&
	       memmem(code, size, &places[0], sizeof(places[0])) &&
	       memmem(code, size, &places[1], sizeof(places[1]));
}

static uint32_t word(int offset)
{
	return 1U << (offset / WORD);
}

static struct walk_text string_at(int pointer)
{
	return (struct walk_text){
		.pointer = pointer,
		.size = NAME_READ,
		.skip = STRING_TEXT,
		.words = 1U << STRING_LENGTH,
		.length = STRING_LENGTH,
		.hash = STRING_HASH,
	};
}

static uint16_t function_size(const struct php_layout *layout)
{
	return layout->line + WORD;
}

static struct walk_program make_walk(const struct php_layout *layout, uint64_t globals)
{
	struct walk_program walk = {
		.lists = { {
			.window = CALL_WINDOW,
			.next = CALL_PREVIOUS,
			.limit = CALLS_MAX,
			.aside = CALL_FUNCTION,
			.aside_within = GENERATOR_PLACEHOLDER,
			.aside_element = GENERATOR_CALL,
			.aside_next = GENERATOR_PARENT,
			.roots = { { .base = WALK_BASE_ADDRESS,
				     .start = globals + layout->current_call,
				     .n_loads = 1,
				     .self = -1 } },
		} },
		.word = { .pointer = CALL_OPLINE,
			  .pointer_mask = UINT64_MAX,
			  .n_loads = 1,
			  .loads = { OPLINE_LINE } },
		.object = {
			.pointer_mask = UINT64_MAX,
			.words = word(FUNCTION_NAME) | word(FUNCTION_SCOPE) |
				 word(layout->opcodes) | word(layout->filename) |
				 word(layout->line),
			.pointer = CALL_FUNCTION,
			.size = function_size(layout),
			.texts = { string_at(FUNCTION_NAME), string_at(layout->filename),
				   { .pointer = FUNCTION_SCOPE, .size = CLASS_READ },
				   string_at(CLASS_NAME) },
		},
	};

	walk.object.texts[3].of = 3;
	return walk;
}

static void describe(const struct php_layout *layout, uint64_t bias, const GElf_Sym *resume,
		     struct runtime *ret)
{
	uint64_t resume_from = bias + resume->st_value;

	snprintf(ret->layout, sizeof(ret->layout),
		 "frame.function=%d frame.previous=%d frame.info=%d frame.line=%d "
		 "function.size=%d function.line=%d function.name=%d function.class=%d text=%d "
		 "text.length=%d resume.from=%" PRIu64 " resume.to=%" PRIu64,
		 CALL_FUNCTION, CALL_PREVIOUS, CALL_INFO, CALL_WINDOW, function_size(layout),
		 layout->line, FUNCTION_NAME, FUNCTION_SCOPE, STRING_TEXT, STRING_LENGTH * WORD,
		 resume_from, resume_from + resume->st_size);
}

enum runtime_state php_find(const struct loaded_image *image, struct runtime *ret)
{
	const struct php_layout *layout;
	struct interpreter_loop loop;
	GElf_Sym globals, reader, resume;
	unsigned int minor;

	if (!loaded_image_find_symbol(image, "execute_ex", &reader))
		return RUNTIME_NONE;
	layout = find_version(image, &minor, ret->version) ? find_layout(minor) : NULL;
	if (!layout)
		return RUNTIME_OTHER_VERSION;
	if (!loaded_image_find_symbol(image, "executor_globals", &globals))
		return RUNTIME_WITH_THREADS;
	if (!loaded_image_find_symbol(image, "zend_get_executed_lineno", &reader) ||
	    !loaded_image_find_symbol(image, "zend_generator_resume", &resume) ||
	    !loaded_image_refers_to(image, &reader, &globals, layout->current_call) ||
	    !has_registers(image) || !interpreter_loop_find(image, "execute_ex", &loop))
		return RUNTIME_OTHER_BUILD;
	ret->walk = make_walk(layout, image->bias + globals.st_value);
	if (!has_generators(image, &resume)) /* those that delegate are not found */
		ret->walk.lists[0].aside_within = 0;
	describe(layout, image->bias, &resume, ret);
	interpreter_loop_describe(&loop, image->bias, ret->layout, sizeof(ret->layout));
	return RUNTIME_KNOWN;
}
