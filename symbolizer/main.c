/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * symbolizer: emits the name of each location before the first stack that needs it, and again when
 * kernel code at that address was replaced.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/pair-map.h"
#include "common/file/gzip.h"
#include "common/stage/sandbox.h"
#include "common/stage/stage.h"
#include "common/stream/frame-cache.h"
#include "common/stream/identity.h"
#include "common/stream/kallsyms.h"
#include "symbolizer/file-names.h"
#include "symbolizer/jit/jit-names.h"
#include "symbolizer/kernel-code.h"
#include "symbolizer/script/script-names.h"
#include "symbolizer/symbols/kept-symbols.h"

enum {
	KEY_DEBUG_DIR = 0x100,
	KEY_NO_INLINES,
	KEY_DEBUGINFOD,
	KEY_NO_CACHE,
	PLACES_MAX = 1 << 22,
	/* A long recording meets ever more locations: beyond these, all are named again. */
	PLACES_KEPT_MAX = 1 << 16,
};

enum { MEMORY_MAX = 1 << 30 }; /* bytes of data; limits on what is read of an image are below it */

#define HAS_COME_NAMED UINT64_MAX /* a state: its name came with the stream */

struct symbolizer {
	struct identity identity;
	struct file_names file_names;
	struct kallsyms kallsyms;
	struct kernel_code kernel_code;
	struct jit_names jit;
	struct script_names scripts;
	struct pair_map places;	   /* named → kernel_code_state(), 0 outside the kernel */
	struct pair_map unnamed;   /* came without a name → pack_bounds() */
	struct frame_cache frames; /* frames whose locations were named */
	uint64_t *n_places, *n_named;
	bool has_seen_samples;
	bool keeps_nothing;	  /* on disk */
	bool has_names_of_others; /* came with the stream: not repeated, so not to be forgotten */
};

/* The first one is the distributions' default, and may be missing. */
static void warn_of_missing_dirs(struct stage *stage, const struct debug_dirs *dirs)
{
	for (size_t i = 1; i < dirs->n; i++)
		if (access(dirs->list[i], X_OK) < 0)
			stage_warn(stage, "no debug files are read from '%s': %s", dirs->list[i],
				   strerror(errno));
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct symbolizer *self = data;
	int r;

	warn_of_missing_dirs(stage, &self->file_names.dirs);
	self->n_places = counters_get(&stage->counters, "places", "distinct");
	self->n_named = counters_get(&stage->counters, "places", "named");
	if (frame_cache_init(&self->frames) < 0)
		return -ENOMEM;
	r = file_names_begin(&self->file_names, stage, &self->identity.images, hello);
	jit_names_init(&self->jit, stage, &self->identity, &self->file_names.files.client);
	return r;
}

static void name_kernel_place(struct symbolizer *self, struct wire_symbol *symbol)
{
	struct kernel_name found;

	if (!kernel_code_name(&self->kernel_code, &self->kallsyms, symbol->offset, &found))
		return;
	symbol->start = found.start;
	symbol->size = found.size;
	symbol->name = wire_string(found.name, WIRE_NAME_MAX);
	symbol->module = wire_string(found.module, 255);
}

/* Packs a location's offset from its function's start, and the function's size: 32 bits each. */
static uint64_t pack_bounds(const struct wire_symbol *symbol)
{
	uint64_t behind = symbol->offset - symbol->start;

	return behind > UINT32_MAX || symbol->size > UINT32_MAX ? 0 : behind << 32 | symbol->size;
}

/* A location without a name keeps the bounds that it came with: their source may not be here. */
static void take_bounds(const struct symbolizer *self, struct wire_symbol *symbol)
{
	const uint64_t *known = pair_map_find(&self->unnamed, symbol->image, symbol->offset);

	symbol->start = symbol->offset - (known ? *known >> 32 : 0);
	symbol->size = known ? (uint32_t)*known : 0;
}

static int put_symbol_of_file(struct symbolizer *self, struct image *image,
			      struct wire_symbol *symbol)
{
	int r = file_names_put(&self->file_names, image, symbol);

	*self->n_named += symbol->name.size > 0;
	return r;
}

/* Emits the name of a location, or that it has none. 0 or -errno. */
static int put_symbol(struct stage *stage, struct symbolizer *self, uint64_t image_number,
		      uint64_t offset)
{
	struct image *image = image_table_find(&self->identity.images, image_number);
	struct wire_symbol symbol = {
		.image = image_number,
		.offset = offset,
	};
	int r;

	if (!image)
		return 0;
	take_bounds(self, &symbol);
	++*self->n_places;
	if (image->kind == WIRE_image_kind_KERNEL)
		name_kernel_place(self, &symbol);
	else if (image->kind == WIRE_image_kind_SCRIPT)
		script_names_find(&self->scripts, &symbol);
	else
		return put_symbol_of_file(self, image, &symbol);
	r = stage_put(stage, WIRE_RECORD_symbol, &symbol);
	*self->n_named += symbol.name.size > 0;
	return r;
}

/* Whether the availability of an image's file is final. */
static bool is_decided(struct symbolizer *self, uint64_t number)
{
	struct image *image = image_table_find(&self->identity.images, number);

	return !image || elf_cache_get(&self->file_names.files, image) ||
	       !elf_cache_is_undecided(&self->file_names.files, image);
}

/* Whether a process's JIT compiler made this code: in anonymous memory, or in its own file. */
static bool is_made(struct symbolizer *self, uint64_t process, uint64_t number)
{
	struct image *image = image_table_find(&self->identity.images, number);

	if (!image || image->kind != WIRE_image_kind_FILE)
		return image && image->kind == WIRE_image_kind_ANONYMOUS;
	return jit_names_is_maker(&self->jit, process, number) &&
	       !elf_cache_get(&self->file_names.files, image) && elf_cache_has_other_data(image);
}

/* Starts over: all locations are named anew, and readers may drop their names. 0 or -errno. */
static int forget_places(struct stage *stage, struct symbolizer *self)
{
	struct wire_symbols_void record = { self->places.n };

	pair_map_clear(&self->places);
	frame_cache_forget_all(&self->frames);
	++*counters_get(&stage->counters, "places", "forgotten-all");
	return stage_put(stage, WIRE_RECORD_symbols_void, &record);
}

/* Notes that a location was named. 0 or -errno. */
static int remember_place(struct symbolizer *self, uint64_t image, uint64_t offset, uint64_t state)
{
	uint64_t *known = pair_map_find(&self->places, image, offset);
	int r;

	if (known) {
		*known = state;
		return 0;
	}
	r = pair_map_add(&self->places, image, offset, state);
	return r == -ENOSPC ? 0 : r; /* named again with the next stack */
}

/* Names a location, unless its current name was emitted. 0 or -errno. */
static int name_place(struct stage *stage, struct symbolizer *self, uint64_t image, uint64_t offset,
		      const struct wire_frame *frame, struct frame_cache_entry *entry)
{
	uint64_t state = 0, *known;
	int r;

	if (frame->flags & WIRE_frame_flags_KERNEL)
		state = kernel_code_state(&self->kernel_code, &self->kallsyms, offset);
	known = pair_map_find(&self->places, image, offset);
	if (known && (*known == state || *known == HAS_COME_NAMED))
		return 0;
	if (!is_decided(self, image)) { /* look again with the next stack */
		frame_cache_forget(&self->frames, entry);
		return 0;
	}
	r = remember_place(self, image, offset, state);
	return r < 0 ? r : put_symbol(stage, self, image, offset);
}

/* Names a frame not met lately; its entry's value is the counter of its image's samples. */
static int name_frame(struct stage *stage, struct symbolizer *self, const struct wire_stack *stack,
		      const struct process *process, const struct wire_frame *frame,
		      struct frame_cache_entry *entry)
{
	uint64_t image, offset;
	int r;

	if (!process_table_place(&self->identity.processes, process, frame, &image, &offset))
		return 0;
	if (is_made(self, stack->process, image)) { /* other code may be there a moment later */
		const struct jit_location place = {
			.image = image,
			.offset = offset,
			.address = frame_code(frame),
		};

		frame_cache_forget(&self->frames, entry);
		return jit_names_discover(&self->jit, stack->process, &place, stack->time);
	}
	r = name_place(stage, self, image, offset, frame, entry);
	entry->value = (uintptr_t)file_names_count(&self->file_names, image);
	return r;
}

/* Names locations again for which more is known now. */
static void take_late(struct symbolizer *self)
{
	if (!file_names_take_late(&self->file_names))
		return;
	pair_map_clear(&self->places);
	frame_cache_forget_all(&self->frames);
}

/* Counts the frames up to those that are as in the previous stack, but at least the innermost. */
static size_t count_new_frames(struct symbolizer *self, const struct process *process,
			       const struct wire_frames *frames)
{
	size_t n_known =
		frame_cache_match(&self->frames, &self->identity.processes, process, frames);

	return frames->n && n_known == frames->n ? 1 : frames->n - n_known;
}

static int handle_stack(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	const struct wire_stack *stack = view;
	const struct process *process =
		process_table_find(&self->identity.processes, stack->process);
	uint64_t *leaf_count = NULL;
	size_t n;
	int r = 0;

	take_late(self);
	if (self->places.n >= PLACES_KEPT_MAX && !self->has_names_of_others)
		r = forget_places(stage, self);
	n = count_new_frames(self, process, &stack->frames);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct wire_frame *frame = &stack->frames.data[i];
		bool is_new;
		struct frame_cache_entry *entry = frame_cache_find(
			&self->frames, &self->identity.processes, process, frame, &is_new);

		if (is_new)
			r = name_frame(stage, self, stack, process, frame, entry);
		if (i == 0)
			leaf_count = (uint64_t *)entry->value;
	}
	if (leaf_count)
		++*leaf_count;
	return r < 0 ? r : STAGE_PASS;
}

/* The stack of an allocation has locations, too. */
static int handle_heap_stack(struct stage *stage, void *data, const void *view)
{
	const struct wire_heap_stack *record = view;
	const struct wire_stack stack = {
		.time = record->time,
		.process = record->process,
		.end = record->end,
		.frames = record->frames,
	};

	return handle_stack(stage, data, &stack);
}

static bool is_of_living_image(uint64_t image, uint64_t offset, uint64_t value, void *arg)
{
	const struct symbolizer *self = arg;

	return image_table_find(&self->identity.images, image);
}

static int handle_image_exit(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = identity_handle_image_exit(stage, &self->identity, view);

	pair_map_prune(&self->places, is_of_living_image, self);
	pair_map_prune(&self->unnamed, is_of_living_image, self);
	file_names_forget_ended(&self->file_names);
	jit_names_forget_ended(&self->jit);
	return r;
}

/* A location beyond the map's limit only loses its bounds. STAGE_PASS or -ENOMEM. */
static int note_unnamed(struct symbolizer *self, const struct wire_symbol *symbol)
{
	uint64_t *known = pair_map_find(&self->unnamed, symbol->image, symbol->offset);
	int r = 0;

	if (known)
		*known = pack_bounds(symbol);
	else if (pack_bounds(symbol))
		r = pair_map_add(&self->unnamed, symbol->image, symbol->offset,
				 pack_bounds(symbol));
	return r == -ENOMEM ? r : STAGE_PASS;
}

/* A location that came with a name keeps it: the name's source may not be here. */
static int handle_symbol(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	const struct wire_symbol *symbol = view;
	int r;

	if (!symbol->name.size)
		return note_unnamed(self, symbol);
	self->has_names_of_others = true;
	r = remember_place(self, symbol->image, symbol->offset, HAS_COME_NAMED);
	return r < 0 ? r : STAGE_PASS;
}

static int handle_mapping(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = jit_names_map(&self->jit, view);

	return r < 0 ? r : identity_handle_mapping(stage, &self->identity, view);
}

static int handle_process_exit(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	const struct wire_process_exit *record = view;
	int r = jit_names_end(&self->jit, record->process);

	script_names_forget(&self->scripts, record->process);
	return r < 0 ? r : identity_handle_process_exit(stage, &self->identity, view);
}

static int handle_process(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = script_names_take_process(&self->scripts, view);

	return r < 0 ? r : identity_handle_process(stage, &self->identity, view);
}

static int handle_runtime(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = script_names_take_runtime(&self->scripts, view);

	return r < 0 ? r : STAGE_PASS;
}

static int handle_memory(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = script_names_take_memory(&self->scripts, view);
	struct wire_symbol symbol;

	while (r == 0 && script_names_take_late(&self->scripts, &symbol))
		r = stage_put(stage, WIRE_RECORD_symbol, &symbol);
	return r < 0 ? r : STAGE_PASS;
}

static int handle_file(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	const struct wire_file *file = view;
	int r;

	if (!gzip_is_path_of(file->path.data, "/proc/kallsyms"))
		return STAGE_PASS;
	r = kallsyms_add(&self->kallsyms, file->data.data, file->data.size);
	if (r == 0 && file->left == 0)
		r = kallsyms_finish(&self->kallsyms);
	if (r == -EBADMSG || r == -EFBIG)
		stage_warn(stage,
			   "kernel functions have no names: kallsyms in the stream is damaged");
	return r == -ENOMEM ? r : STAGE_PASS;
}

static int handle_kernel_symbol(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = kernel_code_change(&self->kernel_code, view);

	frame_cache_forget_all(&self->frames);
	return r < 0 ? r : STAGE_PASS;
}

/* Warns once: only stacks have locations, so live-unwinder is missing or comes later. */
static int handle_sample(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;

	if (!self->has_seen_samples)
		stage_warn(stage,
			   "the stream has samples that are not unwound, which get no names: run "
			   "live-unwinder before symbolizer");
	self->has_seen_samples = true;
	return STAGE_PASS;
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct symbolizer *self = data;
	uint64_t n_refused = file_names_refused(&self->file_names) + self->kallsyms.n_refused;

	identity_count_refused(&self->identity, stage);
	if (n_refused)
		*counters_get(&stage->counters, "refused", "symbols") = n_refused;
	if (self->kernel_code.n_refused)
		*counters_get(&stage->counters, "refused", "kernel-code") =
			self->kernel_code.n_refused;
	n_refused = self->scripts.n_refused + self->scripts.sources.n_refused;
	if (n_refused)
		*counters_get(&stage->counters, "refused", "scripts") = n_refused;
	file_names_report_untrusted(&self->file_names);
	return jit_names_end_all(&self->jit);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct symbolizer *self = state->input;
	struct debug_dirs *dirs = &self->file_names.dirs;

	if (key == KEY_NO_INLINES) {
		self->file_names.options.depth = IMAGE_SYMBOLS_FUNCTIONS_ONLY;
		return 0;
	}
	if (key == KEY_NO_CACHE) {
		self->keeps_nothing = true;
		return 0;
	}
	if (key == KEY_DEBUGINFOD) {
		if (debuginfod_mode_parse(arg, &self->file_names.downloads.mode) < 0)
			stage_usage_error(state, "--debuginfod takes off, cache or on, not '%s'",
					  arg);
		return 0;
	}
	if (key != KEY_DEBUG_DIR)
		return ARGP_ERR_UNKNOWN;
	if (dirs->n == DEBUG_DIRS_MAX)
		stage_usage_error(state, "--debug-dir can be given at most %d times",
				  DEBUG_DIRS_MAX - 1);
	dirs->list[dirs->n++] = arg;
	return 0;
}

static void init(void *data)
{
	struct symbolizer *self = data;

	file_names_init(&self->file_names);
	pair_map_init(&self->places, PLACES_MAX);
	pair_map_init(&self->unnamed, PLACES_MAX);
}

static void deinit(void *data)
{
	struct symbolizer *self = data;

	identity_deinit(&self->identity); /* with the files and their tables */
	pair_map_deinit(&self->places);
	pair_map_deinit(&self->unnamed);
	frame_cache_deinit(&self->frames);
	kallsyms_deinit(&self->kallsyms);
	jit_names_deinit(&self->jit);
	script_names_deinit(&self->scripts);
	kernel_code_deinit(&self->kernel_code);
	file_names_deinit(&self->file_names);
}

static int open_kept(struct stage *stage, void *data)
{
	struct symbolizer *self = data;

	if (!self->keeps_nothing)
		self->file_names.options.kept = kept_symbols_open();
	return 0;
}

static bool keep(void *data)
{
	struct symbolizer *self = data;

	return file_names_keep(&self->file_names);
}

static const struct argp_option option_table[] = {
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0,
	  "Also search DIR, laid out like /usr/lib/debug, for separate debug files (at most 15 "
	  "times; default: none)",
	  0 },
	{ "debuginfod", KEY_DEBUGINFOD, "MODE", 0,
	  "Debug files from debuginfod: off, cache (files downloaded earlier; default) or on "
	  "(download missing files)",
	  0 },
	{ "no-cache", KEY_NO_CACHE, NULL, 0,
	  "Do not cache symbols on disk (default: cache those of each file)", 0 },
	{ "no-inlines", KEY_NO_INLINES, NULL, 0,
	  "Name functions only, without inlined calls and source lines (default: with both)", 0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	{ WIRE_RECORD_file, handle_file },
	/* Before the shared handlers of the same records, which these call. */
	{ WIRE_RECORD_image_exit, handle_image_exit },
	{ WIRE_RECORD_mapping, handle_mapping },
	{ WIRE_RECORD_process, handle_process },
	{ WIRE_RECORD_process_exit, handle_process_exit },
	{ WIRE_RECORD_kernel_symbol, handle_kernel_symbol },
	{ WIRE_RECORD_symbol, handle_symbol },
	IDENTITY_HANDLERS(offsetof(struct symbolizer, identity)),
	{ WIRE_RECORD_runtime, handle_runtime },
	{ WIRE_RECORD_memory, handle_memory },
	{ WIRE_RECORD_stack, handle_stack },
	{ WIRE_RECORD_heap_stack, handle_heap_stack },
	{ WIRE_RECORD_sample, handle_sample },
	{ WIRE_RECORD_heap_sample, handle_sample },
	{ 0 },
};

/* Debug files may be anywhere: beside a program, or below a directory that the user names. */
static void describe_sandbox(const void *data, struct sandbox *sandbox)
{
	const struct symbolizer *self = data;

	stage_sandbox_allow_images(sandbox);
	if (self->file_names.downloads.has_fetcher)
		SANDBOX_ALLOW(sandbox, SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(wait4));
	/* Split DWARF beside an open file: realpath(3), which is lstat(2) before glibc 2.33. */
	SANDBOX_ALLOW(sandbox, SCMP_SYS(openat), SCMP_SYS(fstatfs), SCMP_SYS(readlink),
		      SCMP_SYS(lstat));
	sandbox_allow_programs(sandbox);
	for (size_t i = 1; i < self->file_names.dirs.n; i++)
		sandbox_allow_path(sandbox, self->file_names.dirs.list[i], SANDBOX_READ);
	if (self->file_names.dirs.debuginfod_cache)
		sandbox_allow_path(sandbox, self->file_names.dirs.debuginfod_cache, SANDBOX_READ);
	if (self->file_names.options.kept >= 0) {
		SANDBOX_ALLOW(sandbox, SCMP_SYS(utimensat), SCMP_SYS(renameat), SCMP_SYS(unlinkat));
		sandbox_allow_directory(sandbox, self->file_names.options.kept,
					SANDBOX_READ_AND_WRITE);
	}
	sandbox->memory_max = MEMORY_MAX;
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "symbolizer",
		.summary = "Adds symbol names to the call stacks of a stream.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct symbolizer),
		.options = option_table,
		.parse_option = parse_option,
		.handlers = handlers,
		.init = init,
		.open = open_kept,
		.start = start,
		.idle = keep,
		.describe_sandbox = describe_sandbox,
		.finish = finish,
		.deinit = deinit,
	};

	return stage_main(argc, argv, &program);
}
