/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * symbolizer: adds the names of the places that pass, each once, before it is first needed; again
 * where code of the kernel has given way to other code.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/frame-cache.h"
#include "common/gzip.h"
#include "common/identity.h"
#include "common/image-files.h"
#include "common/pair-map.h"
#include "common/stage.h"
#include "symbolizer/demangle.h"
#include "symbolizer/image-symbols.h"
#include "symbolizer/jit-names.h"
#include "symbolizer/kallsyms.h"
#include "symbolizer/kernel-code.h"
#include "symbolizer/symbol-table.h"

enum {
	KEY_DEBUG_DIR = 0x100,
	KEY_NO_INLINES,
	PLACES_MAX = 1 << 22, /* known at one time; beyond that they are named again */
	NAME_MAX_SIZE = 4096,
};

#define SYMBOLS_SIZE_MAX (512ULL << 20) /* bytes of all images' symbols; one alone may be larger   \
					 */

struct symbolizer {
	struct identity identity; /* first: see identity.h */
	struct debug_dirs debug_dirs;
	struct image_files files;
	struct pair_map tables; /* (image, 0) → struct image_symbols * */
	enum image_symbols_depth depth;
	struct kallsyms kallsyms;
	struct kernel_code kernel_code;
	struct jit_names jit;
	struct pair_map tallies;   /* (image, 0) → count of samples in it: it has no DWARF */
	uint64_t *leaf_tally;	   /* of the last stack's innermost frame; NULL: it has none */
	struct pair_map places;	   /* that have been named → kernel_code_state(), of others 0 */
	struct frame_cache frames; /* whose places have been named */
	struct place_symbols found;
	uint64_t *n_places, *n_named, *n_inlined;
	uint64_t n_refused; /* symbols of images */
	bool has_met_samples;
};

/* The first one is where distributions have them, and need not be there. */
static void warn_of_missing_dirs(struct stage *stage, const struct debug_dirs *dirs)
{
	for (size_t i = 1; i < dirs->n; i++)
		if (access(dirs->list[i], X_OK) < 0)
			stage_warn(stage, "no debug files are taken from '%s': %s", dirs->list[i],
				   strerror(errno));
}

/* Names point into the file that is about to be closed. */
static void forget_symbols(struct image *image, void *arg)
{
	struct symbolizer *self = arg;
	uint64_t *known = pair_map_find(&self->tables, image->number, 0);
	struct image_symbols *symbols = known ? (struct image_symbols *)*known : NULL;

	if (!known)
		return;
	if (symbols)
		self->n_refused += image_symbols_refused(symbols);
	image_symbols_free(symbols);
	pair_map_remove(&self->tables, image->number, 0);
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct symbolizer *self = data;
	int r;

	warn_of_missing_dirs(stage, &self->debug_dirs);
	self->n_places = counters_get(&stage->counters, "places", "distinct");
	self->n_named = counters_get(&stage->counters, "places", "named");
	self->n_inlined = counters_get(&stage->counters, "places", "inlined-calls");
	if (frame_cache_init(&self->frames) < 0)
		return -ENOMEM;
	r = image_files_init(&self->files, stage, &self->identity.images, hello);
	self->files.before_close = forget_symbols;
	self->files.weight_max = SYMBOLS_SIZE_MAX;
	jit_names_init(&self->jit, stage, &self->identity, &self->files.client);
	self->files.arg = self;
	return r;
}

/* The functions of an image, read when it is first met; NULL: no memory. */
static struct image_symbols *find_symbols(struct symbolizer *self, struct image *image,
					  const struct elf_image *elf)
{
	uint64_t *known = pair_map_find(&self->tables, image->number, 0);
	struct image_symbols *symbols = NULL;

	if (known)
		return (struct image_symbols *)*known;
	if (image_symbols_new(elf, image->path, &self->debug_dirs, self->depth, &symbols) < 0)
		symbols = NULL;
	pair_map_add(&self->tables, image->number, 0, (uintptr_t)symbols);
	return symbols;
}

static void name_kernel_place(struct symbolizer *self, struct wire_symbol *symbol)
{
	struct kernel_name found;

	if (!kernel_code_name(&self->kernel_code, &self->kallsyms, symbol->offset, &found))
		return;
	symbol->start = found.start;
	symbol->size = found.size;
	symbol->name = wire_string(found.name, NAME_MAX_SIZE);
	symbol->module = wire_string(found.module, 255);
}

/* A call that was inlined at the place of `symbol`. 0 or -errno. */
static int put_inlined(struct stage *stage, struct symbolizer *self,
		       const struct wire_symbol *symbol, const struct inline_call *call)
{
	_cleanup_free_ char *demangled = call->name ? demangle(call->name) : NULL;
	const char *name = demangled ? demangled : call->name ? call->name : "[inlined]";
	struct wire_inlined record = {
		.image = symbol->image,
		.offset = symbol->offset,
		.name = wire_string(name, NAME_MAX_SIZE),
		.file = wire_string(call->file, PATH_MAX),
		.line = call->line,
		.column = call->column,
	};

	++*self->n_inlined;
	return stage_put(stage, WIRE_RECORD_inlined, &record);
}

/* The function's own name; its symbol knows of copies (".cold") what DWARF does not. */
static void name_function(const struct place_symbols *found, char **ret_demangled,
			  struct wire_symbol *symbol)
{
	const struct inline_call *function =
		found->n_calls ? &found->calls[found->n_calls - 1] : NULL;
	const char *name = NULL;

	if (function) {
		symbol->file = wire_string(function->file, PATH_MAX);
		symbol->line = function->line;
		symbol->column = function->column;
	}
	if (found->symbol) {
		name = symbol_name(found->symbol);
	} else if (function && function->name) {
		*ret_demangled = demangle(function->name);
		name = *ret_demangled ? *ret_demangled : function->name;
	}
	symbol->name = wire_string(name, NAME_MAX_SIZE);
}

/* Samples in files without debug information are counted, so that a person knows what to install.
 */
static void tally_image(struct stage *stage, struct symbolizer *self, const struct image *image,
			const struct image_symbols *symbols)
{
	char name[256], hex[2 * WIRE_BUILD_ID_MAX + 1] = "none";

	if (self->depth == IMAGE_SYMBOLS_FUNCTIONS_ONLY || image->kind != WIRE_image_kind_FILE ||
	    image_symbols_has_debug_info(symbols) ||
	    pair_map_find(&self->tallies, image->number, 0))
		return;
	for (size_t i = 0; i < image->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", image->build_id[i]);
	snprintf(name, sizeof(name), "%.100s (build-id %s)", image_name(image), hex);
	pair_map_add(&self->tallies, image->number, 0,
		     (uintptr_t)counters_get(&stage->counters, "no-debug-info", name));
}

/* 0 or -errno */
static int put_file_place(struct stage *stage, struct symbolizer *self, struct image *image,
			  struct wire_symbol *symbol)
{
	const struct elf_image *elf = image_files_get(&self->files, image);
	struct image_symbols *symbols = elf ? find_symbols(self, image, elf) : NULL;
	_cleanup_free_ char *demangled = NULL;
	struct place_symbols *found = &self->found;
	uint64_t address;
	int r;

	if (!symbols || !elf_image_address(elf, symbol->offset, &address))
		return stage_put(stage, WIRE_RECORD_symbol, symbol);
	r = image_symbols_find(symbols, address, found);
	image_files_weigh(&self->files, image, image_symbols_size(symbols));
	tally_image(stage, self, image, symbols);
	symbol->start = symbol->offset - (address - found->start);
	symbol->size = found->size;
	name_function(found, &demangled, symbol);
	for (size_t i = 0; i + 1 < found->n_calls && r == 0; i++)
		r = put_inlined(stage, self, symbol, &found->calls[i]);
	*self->n_named += symbol->name.size > 0;
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_symbol, symbol);
}

/* Tells the name of a place, or that it has none. 0 or -errno. */
static int put_symbol(struct stage *stage, struct symbolizer *self, uint64_t image_number,
		      uint64_t offset)
{
	struct image *image = image_table_find(&self->identity.images, image_number);
	struct wire_symbol symbol = {
		.image = image_number,
		.offset = offset,
		.start = offset,
	};

	if (!image)
		return 0;
	++*self->n_places;
	if (image->kind != WIRE_image_kind_KERNEL)
		return put_file_place(stage, self, image, &symbol);
	name_kernel_place(self, &symbol);
	*self->n_named += symbol.name.size > 0;
	return stage_put(stage, WIRE_RECORD_symbol, &symbol);
}

/* Whether it is known for good if the file of an image can be had. */
static bool is_decided(struct symbolizer *self, uint64_t number)
{
	struct image *image = image_table_find(&self->identity.images, number);

	return !image || image_files_get(&self->files, image) ||
	       !image_files_is_undecided(&self->files, image);
}

static bool is_anonymous(struct symbolizer *self, uint64_t number)
{
	const struct image *image = image_table_find(&self->identity.images, number);

	return image && image->kind == WIRE_image_kind_ANONYMOUS;
}

/* Notes that a place has been named. 0 or -ENOMEM. */
static int remember_place(struct stage *stage, struct symbolizer *self, uint64_t image,
			  uint64_t offset, uint64_t state)
{
	uint64_t *known = pair_map_find(&self->places, image, offset);
	int r;

	if (known) {
		*known = state;
		return 0;
	}
	r = pair_map_add(&self->places, image, offset, state);
	if (r == -ENOSPC) {
		pair_map_clear(&self->places);
		++*counters_get(&stage->counters, "places", "forgotten-all");
		r = pair_map_add(&self->places, image, offset, state);
	}
	return r;
}

/* Names a place, unless it has been named as it is now. 0 or -errno. */
static int name_place(struct stage *stage, struct symbolizer *self, uint64_t image, uint64_t offset,
		      const struct wire_frame *frame, struct frame_cache_entry *entry)
{
	uint64_t state = 0, *known;
	int r;

	if (frame->flags & WIRE_frame_flags_KERNEL)
		state = kernel_code_state(&self->kernel_code, &self->kallsyms, offset);
	known = pair_map_find(&self->places, image, offset);
	if (known && *known == state)
		return 0;
	if (!is_decided(self, image)) { /* ask again with the next stack */
		frame_cache_forget(&self->frames, entry);
		return 0;
	}
	r = remember_place(stage, self, image, offset, state);
	return r < 0 ? r : put_symbol(stage, self, image, offset);
}

/* A frame that was not met lately: the value of its entry is where samples in its image count. */
static int name_frame(struct stage *stage, struct symbolizer *self, const struct wire_stack *stack,
		      const struct process *process, const struct wire_frame *frame,
		      struct frame_cache_entry *entry)
{
	uint64_t image, offset, *tally;
	int r;

	if (!process_table_place(&self->identity.processes, process, frame, &image, &offset))
		return 0;
	if (is_anonymous(self, image)) { /* a JIT compiler may put other code there */
		frame_cache_forget(&self->frames, entry);
		return jit_names_meet(&self->jit, stack->process, image, offset, stack->time);
	}
	r = name_place(stage, self, image, offset, frame, entry);
	tally = pair_map_find(&self->tallies, image, 0);
	entry->value = tally ? *tally : 0;
	return r;
}

static int handle_stack(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	const struct wire_stack *stack = view;
	const struct process *process =
		process_table_find(&self->identity.processes, stack->process);
	size_t n_known = frame_cache_match(&self->frames, &self->identity.processes, process,
					   &stack->frames);
	int r = 0;

	for (size_t i = 0; i < stack->frames.n - n_known && r == 0; i++) {
		const struct wire_frame *frame = &stack->frames.data[i];
		bool is_new;
		struct frame_cache_entry *entry = frame_cache_find(
			&self->frames, &self->identity.processes, process, frame, &is_new);

		if (is_new)
			r = name_frame(stage, self, stack, process, frame, entry);
		if (i == 0) /* else it is that of the stack before */
			self->leaf_tally = (uint64_t *)entry->value;
	}
	if (!stack->frames.n)
		self->leaf_tally = NULL;
	if (self->leaf_tally)
		++*self->leaf_tally;
	return r < 0 ? r : STAGE_PASS;
}

static bool is_of_living_image(uint64_t image, uint64_t offset, uint64_t value, void *arg)
{
	const struct symbolizer *self = arg;

	return image_table_find(&self->identity.images, image);
}

static int handle_image_exit(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = identity_handle_image_exit(stage, data, view);

	pair_map_prune(&self->places, is_of_living_image, self);
	pair_map_prune(&self->tallies, is_of_living_image, self);
	return r;
}

static int handle_mapping(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	int r = jit_names_map(&self->jit, view);

	return r < 0 ? r : identity_handle_mapping(stage, data, view);
}

static int handle_process_exit(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;
	const struct wire_process_exit *record = view;
	int r = jit_names_end(&self->jit, record->process);

	return r < 0 ? r : identity_handle_process_exit(stage, data, view);
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

/* Only call stacks have places to name: a person has left the unwinder out, or put it behind. */
static int handle_sample(struct stage *stage, void *data, const void *view)
{
	struct symbolizer *self = data;

	if (!self->has_met_samples)
		stage_warn(stage, "samples come that no unwinder has seen, and get no names: put "
				  "live-unwinder in front of symbolizer");
	self->has_met_samples = true;
	return STAGE_PASS;
}

static void add_refused(uint64_t image, uint64_t zero, uint64_t value, void *arg)
{
	const struct image_symbols *symbols = (struct image_symbols *)value;

	*(uint64_t *)arg += symbols ? image_symbols_refused(symbols) : 0;
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct symbolizer *self = data;

	pair_map_each(&self->tables, add_refused, &self->n_refused);
	identity_count_refused(&self->identity, stage);
	if (self->n_refused + self->kallsyms.n_refused)
		*counters_get(&stage->counters, "refused", "symbols") =
			self->n_refused + self->kallsyms.n_refused;
	if (self->kernel_code.n_refused)
		*counters_get(&stage->counters, "refused", "kernel-code") =
			self->kernel_code.n_refused;
	return jit_names_end_all(&self->jit);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct symbolizer *self = state->input;

	if (key == KEY_NO_INLINES) {
		self->depth = IMAGE_SYMBOLS_FUNCTIONS_ONLY;
		return 0;
	}
	if (key != KEY_DEBUG_DIR)
		return ARGP_ERR_UNKNOWN;
	if (self->debug_dirs.n == DEBUG_DIRS_MAX)
		stage_usage_error(state, "--debug-dir can be given %d times", DEBUG_DIRS_MAX - 1);
	self->debug_dirs.list[self->debug_dirs.n++] = arg;
	return 0;
}

static void init(void *data)
{
	struct symbolizer *self = data;

	self->debug_dirs.list[self->debug_dirs.n++] = "/usr/lib/debug";
	self->files.client.fd = -1;
	pair_map_init(&self->tables, IMAGE_TABLE_MAX);
	pair_map_init(&self->tallies, IMAGE_TABLE_MAX);
	pair_map_init(&self->places, PLACES_MAX);
}

static void deinit(void *data)
{
	struct symbolizer *self = data;

	identity_deinit(&self->identity); /* with the files, and their tables */
	pair_map_deinit(&self->tables);
	pair_map_deinit(&self->tallies);
	pair_map_deinit(&self->places);
	frame_cache_deinit(&self->frames);
	kallsyms_deinit(&self->kallsyms);
	jit_names_deinit(&self->jit);
	kernel_code_deinit(&self->kernel_code);
	image_files_deinit(&self->files);
}

static const struct argp_option option_table[] = {
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0,
	  "Look for separate debug files in DIR too, as in /usr/lib/debug", 0 },
	{ "no-inlines", KEY_NO_INLINES, NULL, 0,
	  "Name functions only: without inlined calls and source lines", 0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	{ WIRE_RECORD_file, handle_file },
	/* In front of the shared ones of the same records, which they call. */
	{ WIRE_RECORD_image_exit, handle_image_exit },
	{ WIRE_RECORD_mapping, handle_mapping },
	{ WIRE_RECORD_process_exit, handle_process_exit },
	{ WIRE_RECORD_kernel_symbol, handle_kernel_symbol },
	{ WIRE_RECORD_image_exit, handle_image_exit }, /* in front of the shared one */
	IDENTITY_HANDLERS,
	{ WIRE_RECORD_stack, handle_stack },
	{ WIRE_RECORD_sample, handle_sample },
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "symbolizer",
		.summary = "Adds names to the places of a stream's call stacks.",
		.role = STAGE_FILTER,
		.self_size = sizeof(struct symbolizer),
		.options = option_table,
		.parse_option = parse_option,
		.handlers = handlers,
		.init = init,
		.start = start,
		.finish = finish,
		.deinit = deinit,
	};

	return stage_main(argc, argv, &program);
}
