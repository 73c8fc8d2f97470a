/* SPDX-License-Identifier: GPL-3.0-or-later */
/* symbolizer: adds the names of the places that pass, each once, before it is first needed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/frame-cache.h"
#include "common/gzip.h"
#include "common/identity.h"
#include "common/image-files.h"
#include "common/pair-map.h"
#include "common/stage.h"
#include "symbolizer/code-ranges.h"
#include "symbolizer/kallsyms.h"
#include "symbolizer/symbol-table.h"

enum {
	KEY_DEBUG_DIR = 0x100,
	PLACES_MAX = 1 << 22, /* known at one time; beyond that they are named again */
	NAME_MAX_SIZE = 4096,
};

/* What is known of the functions of an image. */
struct image_symbols {
	struct symbol_table table;
	struct code_ranges ranges; /* read when a place has no symbol */
	bool has_ranges;
};

struct symbolizer {
	struct identity identity; /* first: see identity.h */
	struct debug_dirs debug_dirs;
	struct image_files files;
	struct pair_map tables; /* (image, 0) → struct image_symbols * */
	struct kallsyms kallsyms;
	struct pair_map places;	   /* that have been named */
	struct frame_cache frames; /* whose places have been named */
	uint64_t *n_places, *n_named;
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
static void forget_table(struct image *image, void *arg)
{
	struct symbolizer *self = arg;
	uint64_t *known = pair_map_find(&self->tables, image->number, 0);
	struct image_symbols *symbols = known ? (struct image_symbols *)*known : NULL;

	if (!known)
		return;
	if (symbols) {
		symbol_table_deinit(&symbols->table);
		code_ranges_deinit(&symbols->ranges);
	}
	free(symbols);
	pair_map_remove(&self->tables, image->number, 0);
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct symbolizer *self = data;
	int r;

	warn_of_missing_dirs(stage, &self->debug_dirs);
	self->n_places = counters_get(&stage->counters, "places", "distinct");
	self->n_named = counters_get(&stage->counters, "places", "named");
	if (frame_cache_init(&self->frames) < 0)
		return -ENOMEM;
	r = image_files_init(&self->files, stage, &self->identity.images, hello);
	self->files.before_close = forget_table;
	self->files.arg = self;
	return r;
}

/* The functions of an image, read when it is first met; NULL: no memory. */
static struct image_symbols *find_symbols(struct symbolizer *self, struct image *image,
					  const struct elf_image *elf)
{
	uint64_t *known = pair_map_find(&self->tables, image->number, 0);
	struct image_symbols *symbols;

	if (known)
		return (struct image_symbols *)*known;
	symbols = calloc(1, sizeof(*symbols));
	if (symbols &&
	    symbol_table_init(&symbols->table, elf->elf, image->path, &self->debug_dirs) < 0) {
		free(symbols);
		symbols = NULL;
	}
	self->n_refused += symbols ? symbols->table.n_refused : 0;
	pair_map_add(&self->tables, image->number, 0, (uintptr_t)symbols);
	return symbols;
}

static void name_kernel_place(struct symbolizer *self, struct wire_symbol *symbol)
{
	const struct kernel_symbol *found =
		kallsyms_find(&self->kallsyms, symbol->offset, &symbol->size);

	if (!found) {
		symbol->size = 0;
		return;
	}
	symbol->start = found->address;
	symbol->name = wire_string(found->name, NAME_MAX_SIZE);
	symbol->module = wire_string(found->module, 255);
}

/* Of a function without a name, so that all its places are one for those who count. */
static void bound_file_place(struct image_symbols *symbols, const struct elf_image *elf,
			     uint64_t address, struct wire_symbol *symbol)
{
	const struct code_range *range;

	if (!symbols->has_ranges)
		code_ranges_init(&symbols->ranges, elf); /* without memory there are none */
	symbols->has_ranges = true;
	range = code_ranges_find(&symbols->ranges, address);
	if (!range)
		return;
	symbol->start = symbol->offset - (address - range->start);
	symbol->size = range->size;
}

static void name_file_place(struct symbolizer *self, struct image *image,
			    struct wire_symbol *symbol)
{
	const struct elf_image *elf = image_files_get(&self->files, image);
	struct image_symbols *symbols = elf ? find_symbols(self, image, elf) : NULL;
	struct symbol *found;
	uint64_t address;

	if (!symbols || !elf_image_address(elf, symbol->offset, &address))
		return;
	found = symbol_table_find(&symbols->table, address);
	if (!found) {
		bound_file_place(symbols, elf, address, symbol);
		return;
	}
	symbol->start = symbol->offset - (address - found->address);
	symbol->size = found->size;
	symbol->name = wire_string(symbol_name(found), NAME_MAX_SIZE);
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

	if (!image || image->kind == WIRE_image_kind_ANONYMOUS)
		return 0;
	if (image->kind == WIRE_image_kind_KERNEL)
		name_kernel_place(self, &symbol);
	else
		name_file_place(self, image, &symbol);
	++*self->n_places;
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

/* Names the place of a frame, unless it has been named. 0 or -errno. */
static int name_frame(struct stage *stage, struct symbolizer *self, const struct process *process,
		      const struct wire_frame *frame, struct frame_cache_entry *entry)
{
	uint64_t image, offset;
	int r;

	if (!process_table_place(&self->identity.processes, process, frame, &image, &offset) ||
	    pair_map_find(&self->places, image, offset))
		return 0;
	if (!is_decided(self, image)) { /* ask again with the next stack */
		frame_cache_forget(&self->frames, entry);
		return 0;
	}
	r = pair_map_add(&self->places, image, offset, 1);
	if (r == -ENOSPC) {
		pair_map_clear(&self->places);
		++*counters_get(&stage->counters, "places", "forgotten-all");
		r = pair_map_add(&self->places, image, offset, 1);
	}
	return r < 0 ? r : put_symbol(stage, self, image, offset);
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
			r = name_frame(stage, self, process, frame, entry);
	}
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
	return r;
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

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct symbolizer *self = data;

	identity_count_refused(&self->identity, stage);
	if (self->n_refused + self->kallsyms.n_refused)
		*counters_get(&stage->counters, "refused", "symbols") =
			self->n_refused + self->kallsyms.n_refused;
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct symbolizer *self = state->input;

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
	pair_map_init(&self->places, PLACES_MAX);
}

static void deinit(void *data)
{
	struct symbolizer *self = data;

	identity_deinit(&self->identity); /* with the files, and their tables */
	pair_map_deinit(&self->tables);
	pair_map_deinit(&self->places);
	frame_cache_deinit(&self->frames);
	kallsyms_deinit(&self->kallsyms);
	image_files_deinit(&self->files);
}

static const struct argp_option option_table[] = {
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0,
	  "Look for separate debug files in DIR too, as in /usr/lib/debug", 0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	{ WIRE_RECORD_file, handle_file },
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
