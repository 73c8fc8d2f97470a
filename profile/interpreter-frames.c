/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/script-place.h"
#include "profile/interpreter-frames.h"

enum {
	INTERPRETERS_MAX = 4 /* in one stack: files of interpreters, and functions of their loops */
};

/* Of HotSpot: the machine itself, and what starts it; of .NET likewise. */
static const char *const machine_files[] = { "libjvm.so",	 "libjli.so",	  "libcoreclr.so",
					     "libhostpolicy.so", "libhostfxr.so", NULL };

#define NO_IMAGE (1ULL << 32) /* more than the number of an image */

/* Functions that start a program or a thread: of the C libraries, and main() itself. */
static const char *const starts[] = { "_start",	 "_start_c",	 "libc_start_main_stage2",
				      "main",	 "start_thread", "clone",
				      "__clone", "clone3",	 "__clone3",
				      NULL };

/* The same by how they begin: glibc has several, and those without a symbol have the file's name.
 */
static const char *const start_prefixes[] = { "__libc_start_", "[libc.so.", "[libc-",
					      "[libpthread",   "[ld-",	    NULL };

/* CPython's name for code that calls one function of a script (-X perf). */
static const char trampoline[] = "py::";

struct hiding {
	const struct names *names;
	const struct image_table *images;
	const struct named_stack *stack;
	bool is_made;	   /* scripts are made code, which unknown functions have places in, too */
	bool loop_calls_c; /* without a function of a script between, as LuaJIT's does */
	uint64_t interpreters[INTERPRETERS_MAX]; /* see image_of() */
	uint32_t loops[INTERPRETERS_MAX];	 /* names of what calls functions of a script */
	size_t n_interpreters, n_loops;
	size_t end; /* frames of a stack, from the outermost to the last one of a script */
};

bool interpreter_frames_parse(const char *text, bool *ret_hides)
{
	*ret_hides = !strcmp(text, "hide");
	return *ret_hides || !strcmp(text, "show");
}

static bool is_script(const struct hiding *hiding, size_t i)
{
	return hiding->stack->frames[i].flags & WIRE_frame_flags_SCRIPT;
}

static const struct wire_frame *frame_of(const struct hiding *hiding, size_t i)
{
	const struct wire_frames *frames = &hiding->stack->record->frames;

	return &frames->data[frames->n - 1 - i];
}

/*
 * The image of a frame, as an interpreter may map its file more than once (V8 does so with its
 * builtins), else the number of its mapping.
 */
static uint64_t image_of(const struct hiding *hiding, size_t i)
{
	const struct wire_frame *frame = frame_of(hiding, i);
	const struct mapping *mapping =
		hiding->stack->process
			? mapping_table_find(process_mappings(hiding->stack->process),
					     frame->address -
						     !(frame->flags & WIRE_frame_flags_EXACT))
			: NULL;

	return mapping ? mapping->image : NO_IMAGE | frame->mapping;
}

/* Whether a frame is of a library of the virtual machine, which calls the code that it makes. */
static bool is_virtual_machine(const struct hiding *hiding, size_t i)
{
	const struct image *image = image_table_find(hiding->images, image_of(hiding, i));
	const char *slash = image && image->path ? strrchr(image->path, '/') : NULL;

	for (const char *const *file = machine_files; slash && *file; file++)
		if (!strcmp(slash + 1, *file))
			return true;
	return false;
}

static bool is_interpreter(const struct hiding *hiding, size_t i)
{
	if (hiding->is_made && !is_script(hiding, i) && is_virtual_machine(hiding, i))
		return true;
	for (size_t k = 0; k < hiding->n_interpreters; k++)
		if (hiding->interpreters[k] == image_of(hiding, i))
			return !is_script(hiding, i);
	return false;
}

/* The name of a frame's function; of inlined calls, that which they are inlined into. */
static uint32_t name_of(const struct hiding *hiding, size_t i)
{
	size_t n;

	return *names_of_label(hiding->names, &hiding->stack->frames[i].label, &n);
}

static bool is_loop(const struct hiding *hiding, size_t i)
{
	for (size_t k = 0; k < hiding->n_loops; k++)
		if (hiding->loops[k] == name_of(hiding, i))
			return true;
	return false;
}

/* Whether a frame calls a function of a script: live-unwinder puts the two together. */
static bool runs_script(const struct hiding *hiding, size_t i)
{
	return !is_script(hiding, i) && i + 1 < hiding->end && is_script(hiding, i + 1);
}

static enum script_language language_of(const struct hiding *hiding, size_t i)
{
	uint64_t address = frame_of(hiding, i)->address;

	return is_script(hiding, i) && script_has(address) ? script_language_of(address)
							   : SCRIPT_LANGUAGES_MAX;
}

static void find_interpreters(struct hiding *hiding)
{
	for (size_t i = 0; i < hiding->end; i++) {
		if (!runs_script(hiding, i))
			continue;
		if (!is_interpreter(hiding, i) && hiding->n_interpreters < INTERPRETERS_MAX)
			hiding->interpreters[hiding->n_interpreters++] = image_of(hiding, i);
		hiding->is_made |= language_of(hiding, i + 1) == SCRIPT_HOTSPOT ||
				   language_of(hiding, i + 1) == SCRIPT_DOTNET;
		hiding->loop_calls_c |= language_of(hiding, i + 1) == SCRIPT_LUAJIT;
		if (!hiding->is_made && !is_loop(hiding, i) && hiding->n_loops < INTERPRETERS_MAX)
			hiding->loops[hiding->n_loops++] = name_of(hiding, i);
	}
}

static const char *text_of(const struct hiding *hiding, size_t i)
{
	return names_text(hiding->names, name_of(hiding, i));
}

static bool is_of_libc(const struct hiding *hiding, size_t i)
{
	for (const char *const *prefix = start_prefixes; *prefix; prefix++)
		if (!strncmp(text_of(hiding, i), *prefix, strlen(*prefix)))
			return true;
	return false;
}

/* What the C library calls first in the main thread is main(), also if it has no symbol. */
static bool is_main_without_name(const struct hiding *hiding, size_t i)
{
	return i && *text_of(hiding, i) == '[' && is_of_libc(hiding, i - 1) &&
	       !strcmp(text_of(hiding, 0), starts[0]);
}

static bool starts_a_program(const struct hiding *hiding, size_t i)
{
	for (const char *const *start = starts; *start; start++)
		if (!strcmp(text_of(hiding, i), *start))
			return true;
	return is_of_libc(hiding, i) || is_main_without_name(hiding, i);
}

/* How many outermost frames only start the interpreter. A program that embeds one has others. */
static size_t count_starts(const struct hiding *hiding)
{
	size_t n = 0;

	while (!is_script(hiding, n) && (is_interpreter(hiding, n) || starts_a_program(hiding, n)))
		n++;
	return is_script(hiding, n) ? n : 0;
}

static bool is_trampoline(const struct hiding *hiding, size_t i)
{
	return !strncmp(text_of(hiding, i), trampoline, strlen(trampoline));
}

/*
 * A loop without a function of a script is of another interpreter, whose functions are not known
 * here: it is shown, so that the stack does not look as if nothing had called those that are.
 */
static bool runs_unknown_script(const struct hiding *hiding, size_t i)
{
	return !hiding->loop_calls_c && is_loop(hiding, i) && !runs_script(hiding, i);
}

/* Perl's loop has a function for each kind of operation, which is part of the loop to others. */
static bool is_operation(const struct hiding *hiding, size_t i)
{
	return i == hiding->end && language_of(hiding, i - 1) == SCRIPT_PERL &&
	       is_interpreter(hiding, i) && !is_loop(hiding, i);
}

static bool is_hidden(const struct hiding *hiding, size_t i)
{
	if (is_operation(hiding, i))
		return true;
	return i < hiding->end && !is_script(hiding, i) &&
	       (is_interpreter(hiding, i) ? !runs_unknown_script(hiding, i)
					  : is_trampoline(hiding, i));
}

size_t interpreter_frames_hide(const struct names *names, const struct image_table *images,
			       const struct named_stack *stack, struct named_frame *ret)
{
	struct hiding hiding = {
		.names = names,
		.images = images,
		.stack = stack,
		.end = stack->record->frames.n,
	};
	size_t n = 0, n_starts;

	while (hiding.end && !is_script(&hiding, hiding.end - 1))
		hiding.end--;
	if (!hiding.end)
		return 0;
	find_interpreters(&hiding);
	n_starts = count_starts(&hiding);
	for (size_t i = 0; i < stack->record->frames.n; i++)
		if (!is_hidden(&hiding, i) && (i >= n_starts || runs_unknown_script(&hiding, i)))
			ret[n++] = stack->frames[i];
	return n;
}
