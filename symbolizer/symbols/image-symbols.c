/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/elf/elf-limits.h"
#include "common/elf/elf-section.h"
#include "common/unwind/unwind-arch.h"
#include "symbolizer/dwarf/debug-flattening.h"
#include "symbolizer/dwarf/debug-sections.h"
#include "symbolizer/symbols/code-ranges.h"
#include "symbolizer/symbols/go-calls.h"
#include "symbolizer/symbols/image-symbols.h"
#include "symbolizer/symbols/kept-symbols.h"
#include "symbolizer/symbols/symbol-table.h"

enum { KEEP_DWARF_MAX = 64 << 20 /* bytes of DWARF; larger ones are not kept */ };

#define KEEP_STEP_NS (2 * NANOSECONDS_A_MILLISECOND)

/* Work in progress: what is to be kept. */
struct symbols_keeper {
	struct call_builder calls;
	struct debug_flattening flattening; /* `info` NULL: not begun */
};

/* A file with DWARF; all borrowed. */
struct dwarf_file {
	Elf *elf; /* NULL: none */
	int fd;
	const char *path;
};

struct image_symbols {
	const struct elf_image *elf;
	const char *path;
	struct debug_dirs dirs;
	enum image_symbols_depth depth;
	struct symbol_table table;
	struct code_ranges ranges;
	bool has_ranges;	    /* `ranges` were read */
	bool has_looked;	    /* DWARF was looked for, */
	bool has_read;		    /* and read */
	struct debug_file separate; /* DWARF, if neither image nor `table` has it */
	struct dwarf_file dwarf;    /* found, but not read yet */
	uint64_t dwarf_size;	    /* of `dwarf` in memory */
	uint64_t tables_size;	    /* libelf's data of all files */
	uint64_t names_size;	    /* names not stored in a file */
	struct debug_info *debug;   /* NULL: none */
	struct go_calls go;	    /* without DWARF */
	bool has_go;
	int kept_directory;
	struct kept_symbols_key key;
	struct kept_symbols kept;      /* `head` NULL: they are not from there */
	struct symbols_keeper *keeper; /* NULL: nothing is being kept */
	bool is_kept;		       /* or must not be */
};

static void end_keeping(struct image_symbols *symbols)
{
	if (symbols->keeper) {
		debug_flattening_deinit(&symbols->keeper->flattening);
		call_builder_deinit(&symbols->keeper->calls);
	}
	free(symbols->keeper);
	symbols->keeper = NULL;
	symbols->is_kept = true;
}

struct image_symbols *image_symbols_free(struct image_symbols *symbols)
{
	if (!symbols)
		return NULL;
	end_keeping(symbols);
	debug_info_free(symbols->debug);
	debug_file_close(&symbols->separate);
	code_ranges_deinit(&symbols->ranges);
	symbol_table_deinit(&symbols->table);
	kept_symbols_unload(&symbols->kept);
	free(symbols);
	return NULL;
}

/* The key of a debug file; all 0 if there is none, or it is in memory. False: it has no key. */
static bool find_key(const struct debug_file *file, struct file_key *ret)
{
	*ret = (struct file_key){ 0 };
	return file->fd < 0 || file_key_of(file->fd, ret);
}

/* Finds separate debug files, as those are found that are read. False: nothing may be kept. */
static bool find_sources(struct image_symbols *symbols)
{
	Elf *elf = symbols->elf->elf;
	_cleanup_(debug_file_close) struct debug_file of_symbols = { .fd = -1 };
	_cleanup_(debug_file_close) struct debug_file of_dwarf = { .fd = -1 };
	const struct debug_file *found = &of_symbols;

	if (!symbol_table_is_in(elf))
		debug_file_find(elf, symbols->path, &symbols->dirs, DEBUG_FILE_SEPARATE_SYMBOLS,
				&of_symbols);
	if (symbols->depth == IMAGE_SYMBOLS_INLINED && !debug_sections_has_info(elf) &&
	    !(of_symbols.elf && debug_sections_has_info(of_symbols.elf))) {
		debug_file_find(elf, symbols->path, &symbols->dirs, DEBUG_FILE_DWARF, &of_dwarf);
		found = &of_dwarf;
	}
	return !of_symbols.is_late && !of_dwarf.is_late &&
	       find_key(&of_symbols, &symbols->key.symbols) && find_key(found, &symbols->key.dwarf);
}

static bool make_key(struct image_symbols *symbols)
{
	symbols->key = (struct kept_symbols_key){ .depth = symbols->depth };
	return symbols->kept_directory >= 0 && table_cache_key(symbols->elf, &symbols->key.image) &&
	       find_sources(symbols);
}

/* Takes what another run has kept. 0, -ENOENT or -ENOMEM. */
static int take_kept(struct image_symbols *symbols)
{
	int r = kept_symbols_load(symbols->kept_directory, &symbols->key, &symbols->kept);

	if (r < 0)
		return r;
	symbols->is_kept = symbols->has_looked = symbols->has_read = symbols->has_ranges = true;
	r = kept_symbols_copy_table(&symbols->kept, &symbols->table);
	return r < 0 ? r : kept_symbols_copy_ranges(&symbols->kept, &symbols->ranges);
}

static void cleanup_symbols(struct image_symbols **symbols)
{
	image_symbols_free(*symbols);
}

int image_symbols_new(const struct elf_image *elf, const char *path, const struct debug_dirs *dirs,
		      const struct image_symbols_options *options, struct image_symbols **ret)
{
	_cleanup_(cleanup_symbols) struct image_symbols *symbols = calloc(1, sizeof(*symbols));
	uint64_t n_refused = dirs->trust ? dirs->trust->n_refused : 0;
	int r = -ENOENT;

	if (!symbols)
		return -ENOMEM;
	symbols->elf = elf;
	symbols->path = path;
	symbols->dirs = *dirs;
	symbols->depth = options->depth;
	symbols->separate.fd = symbols->table.debug.fd = -1;
	symbols->kept_directory = options->kept;
	if (make_key(symbols))
		r = take_kept(symbols);
	else
		symbols->is_kept = true;
	if (r == -ENOENT) {
		if (dirs->trust) /* the same files are looked for again */
			dirs->trust->n_refused = n_refused;
		r = symbol_table_init(&symbols->table, elf->elf, path, dirs);
	}
	if (r < 0)
		return r;
	symbols->tables_size = elf_tables_size(elf->elf) + debug_file_size(&symbols->table.debug);
	*ret = take_pointer(symbols);
	return 0;
}

/* A separate file with DWARF: that of the symbols, else another one; NULL: none. */
static const struct debug_file *find_separate(struct image_symbols *symbols)
{
	const struct debug_file *of_symbols = &symbols->table.debug;

	if (of_symbols->elf && debug_sections_has_info(of_symbols->elf))
		return of_symbols;
	if (!debug_file_find(symbols->elf->elf, symbols->path, &symbols->dirs, DEBUG_FILE_DWARF,
			     &symbols->separate))
		return NULL;
	symbols->tables_size += debug_file_size(&symbols->separate);
	return &symbols->separate;
}

void image_symbols_find_debug(struct image_symbols *symbols)
{
	const struct debug_file *separate;
	struct dwarf_file *dwarf = &symbols->dwarf;
	uint64_t size;

	if (symbols->has_looked || symbols->depth == IMAGE_SYMBOLS_FUNCTIONS_ONLY)
		return;
	symbols->has_looked = true;
	if (debug_sections_has_info(symbols->elf->elf))
		*dwarf = (struct dwarf_file){ symbols->elf->elf, symbols->elf->fd, symbols->path };
	else if ((separate = find_separate(symbols)))
		*dwarf = (struct dwarf_file){ separate->elf, separate->fd, separate->path ?: "" };
	size = dwarf->elf ? elf_dwarf_size(dwarf->elf) : 0;
	symbols->dwarf_size = size <= DEBUG_INFO_SECTIONS_MAX ? size : 0; /* more is not read */
}

/* Reads the DWARF that was found, else the tables of a Go program, once. 0 or -ENOMEM. */
static int read_debug(struct image_symbols *symbols)
{
	struct dwarf_file file;
	int r = 0;

	if (symbols->has_read || symbols->depth == IMAGE_SYMBOLS_FUNCTIONS_ONLY)
		return 0;
	symbols->has_read = true;
	image_symbols_find_debug(symbols);
	file = symbols->dwarf;
	symbols->dwarf = (struct dwarf_file){ 0 };
	symbols->dwarf_size = 0;
	if (file.elf)
		r = debug_info_new(file.elf, file.fd, file.path, &symbols->dirs, &symbols->debug);
	if (!symbols->debug)
		symbols->has_go = go_calls_init(&symbols->go, symbols->elf->elf);
	return r < 0 ? r : 0;
}

/* Reads the ranges at first use. */
static const struct code_ranges *get_ranges(struct image_symbols *symbols)
{
	if (!symbols->has_ranges)
		code_ranges_init(&symbols->ranges, symbols->elf); /* none without memory */
	symbols->has_ranges = true;
	return &symbols->ranges;
}

/* Whether code shows that a function may end between two addresses; true if unknown. */
static bool has_end_between(const struct image_symbols *symbols, uint64_t start, uint64_t end)
{
	const struct unwind_arch *arch = unwind_arch_find(symbols->elf->machine);
	_cleanup_free_ unsigned char *code = NULL;
	size_t size = end - start + 1;
	uint64_t offset;

	if (!arch || !arch->function_end_is_within || size > UNWIND_FUNCTION_MAX ||
	    !elf_image_offset(symbols->elf, start, &offset))
		return true;
	code = malloc(size + 1);
	return !code || pread(symbols->elf->fd, code, size, offset) != (ssize_t)size ||
	       arch->function_end_is_within(code, size, start);
}

/* The function around a label, unless an FDE begins another function up to the label. */
static struct symbol *find_around(struct image_symbols *symbols, struct symbol *label,
				  uint64_t address)
{
	struct symbol *outer = symbol_table_find_around(&symbols->table, label, address);

	return outer && !code_ranges_begins_another(get_ranges(symbols), outer->address,
						    label->address)
		       ? outer
		       : NULL;
}

/*
 * A sizeless symbol (of an assembler) names no address behind its FDE's end or another FDE's
 * beginning; in a stripped file, which lacks other symbols, nor behind a possible end in its code.
 */
static struct symbol *find_symbol(struct image_symbols *symbols, uint64_t address)
{
	struct symbol *symbol = symbol_table_find(&symbols->table, address), *outer;
	const struct code_ranges *ranges;

	if (!symbol || symbol->is_sized)
		return symbol;
	if (symbol->is_label && (outer = find_around(symbols, symbol, address)))
		return outer;
	ranges = get_ranges(symbols);
	if (code_ranges_begins_another(ranges, symbol->address, address) ||
	    code_ranges_has_ended(ranges, symbol->address, address))
		return NULL;
	if (!symbols->table.has_locals && has_end_between(symbols, symbol->address, address))
		return NULL;
	return symbol;
}

/* Bounds for a function without a name, so that its locations count as one. */
static void find_bounds(struct image_symbols *symbols, uint64_t address, struct place_symbols *ret)
{
	const struct code_range *range = code_ranges_find(get_ranges(symbols), address);

	if (range) {
		ret->start = range->start;
		ret->size = range->size;
	}
}

static int find_calls(struct image_symbols *symbols, uint64_t address, struct place_symbols *ret)
{
	int r = read_debug(symbols);

	if (symbols->kept.head)
		r = call_table_find(&symbols->kept.calls, address, ret->calls,
				    DEBUG_INFO_CALLS_MAX);
	else if (r == 0 && symbols->debug)
		r = debug_info_find(symbols->debug, address, ret->calls, DEBUG_INFO_CALLS_MAX);
	else if (r == 0 && symbols->has_go)
		r = go_calls_find(&symbols->go, address, ret->calls, DEBUG_INFO_CALLS_MAX);
	if (r < 0)
		return r;
	ret->n_calls = r;
	return 0;
}

/* Prefers the name of the folded function that DWARF describes, if it is only one. */
static int prefer_described(struct image_symbols *symbols, struct symbol *symbol)
{
	const char *name = NULL;
	int r;

	if (!symbol || !symbol->n_folded || symbol->is_asked || !symbols->debug)
		return 0;
	r = debug_info_find_only_function(symbols->debug, symbol->address, &name);
	if (name)
		symbol_table_prefer(&symbols->table, symbol, name);
	return r;
}

int image_symbols_find(struct image_symbols *symbols, uint64_t address, struct place_symbols *ret)
{
	int r;

	ret->symbol = find_symbol(symbols, address);
	ret->start = address;
	ret->size = 0;
	ret->n_calls = 0;
	if (ret->symbol) {
		ret->start = ret->symbol->address;
		ret->size = ret->symbol->size;
	} else {
		find_bounds(symbols, address, ret);
	}
	r = find_calls(symbols, address, ret);
	return r < 0 ? r : prefer_described(symbols, ret->symbol);
}

const char *image_symbols_name(struct image_symbols *symbols, struct symbol *symbol)
{
	bool is_new = !symbol->is_asked;
	const char *name = symbol_name(symbol);

	if (is_new && symbol->full_name)
		symbols->names_size += strlen(name) + 1;
	return name;
}

/* Names all folded functions as DWARF describes them. 0 or -ENOMEM. */
static int prefer_all(struct image_symbols *symbols)
{
	int r = 0;

	for (size_t i = 0; i < symbols->table.n && r == 0; i++)
		r = prefer_described(symbols, &symbols->table.list[i]);
	return r;
}

/* Whether symbols, and DWARF, are of the very files that the key has. */
static bool is_of_key(const struct image_symbols *symbols)
{
	const struct debug_file *of_symbols = &symbols->table.debug;
	const struct debug_file *of_dwarf = symbols->separate.elf ? &symbols->separate : of_symbols;
	struct table_cache_key image;
	struct file_key source, dwarf;

	return elf_image_is_unchanged(symbols->elf) && table_cache_key(symbols->elf, &image) &&
	       find_key(of_symbols, &source) && find_key(of_dwarf, &dwarf) &&
	       !memcmp(&image, &symbols->key.image, sizeof(image)) &&
	       !memcmp(&source, &symbols->key.symbols, sizeof(source)) &&
	       !memcmp(&dwarf, &symbols->key.dwarf, sizeof(dwarf));
}

static void save(struct image_symbols *symbols)
{
	const struct kept_parts parts = {
		.table = &symbols->table,
		.ranges = get_ranges(symbols),
		.calls = &symbols->keeper->calls,
		.has_debug = symbols->debug,
	};

	if (prefer_all(symbols) == 0 && is_of_key(symbols) && !image_symbols_refused(symbols))
		kept_symbols_save(symbols->kept_directory, &symbols->key, &parts);
}

/* Begins to keep what can be found. False: it must not be kept, as not all of it is known. */
static bool begin_keeping(struct image_symbols *symbols)
{
	if (read_debug(symbols) < 0 || symbols->has_go || image_symbols_is_late(symbols) ||
	    image_symbols_refused(symbols) ||
	    (symbols->debug && debug_info_size(symbols->debug) > KEEP_DWARF_MAX))
		return false;
	symbols->keeper = calloc(1, sizeof(*symbols->keeper));
	if (!symbols->keeper)
		return false;
	call_builder_init(&symbols->keeper->calls);
	return !symbols->debug || debug_flattening_init(&symbols->keeper->flattening,
							symbols->debug) == DEBUG_FLATTENING_MORE;
}

bool image_symbols_keep(struct image_symbols *symbols)
{
	uint64_t end = clock_now(CLOCK_MONOTONIC) + KEEP_STEP_NS;
	int r = DEBUG_FLATTENING_DONE;

	if (symbols->is_kept)
		return false;
	if (!symbols->keeper && !begin_keeping(symbols)) {
		end_keeping(symbols);
		return false;
	}
	while (symbols->debug &&
	       (r = debug_flattening_step(&symbols->keeper->flattening, &symbols->keeper->calls)) ==
		       DEBUG_FLATTENING_MORE &&
	       clock_now(CLOCK_MONOTONIC) < end)
		;
	if (r == DEBUG_FLATTENING_MORE)
		return true;
	if (r == DEBUG_FLATTENING_DONE)
		save(symbols);
	end_keeping(symbols);
	return false;
}

bool image_symbols_wait_to_be_kept(const struct image_symbols *symbols)
{
	return !symbols->is_kept;
}

bool image_symbols_were_kept(const struct image_symbols *symbols)
{
	return symbols->kept.head;
}

uint64_t image_symbols_size(const struct image_symbols *symbols)
{
	return sizeof(*symbols) + symbols->kept.file.map_size + symbols->dwarf_size +
	       symbols->tables_size + symbols->names_size +
	       symbols->table.n * sizeof(*symbols->table.list) +
	       symbols->table.n_folded * sizeof(*symbols->table.folded) +
	       symbols->ranges.n * sizeof(*symbols->ranges.list) +
	       (symbols->debug ? debug_info_size(symbols->debug) : 0) +
	       (symbols->has_go ? go_calls_size(&symbols->go) : 0);
}

bool image_symbols_has_debug_info(const struct image_symbols *symbols)
{
	return symbols->debug || symbols->kept.has_debug;
}

bool image_symbols_is_late(const struct image_symbols *symbols)
{
	return symbols->table.debug.is_late || symbols->separate.is_late;
}

uint64_t image_symbols_refused(const struct image_symbols *symbols)
{
	const struct debug_info_refused *refused =
		symbols->debug ? debug_info_refused(symbols->debug) : NULL;

	return symbols->table.n_refused +
	       (refused ? refused->units + refused->ranges + refused->functions + refused->dies +
				  refused->lines + refused->calls
			: 0);
}
