/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything known about the functions of an image, each part read on demand: its symbols, else the
 * bounds of its functions, and its DWARF, which may be in a separate file, else Go's own tables.
 */
#pragma once

#include "common/elf/elf-image.h"
#include "symbolizer/dwarf/debug-info.h"

enum image_symbols_depth { IMAGE_SYMBOLS_INLINED, IMAGE_SYMBOLS_FUNCTIONS_ONLY };

/* The symbols of a location. Names are as linked, and live as long as the image_symbols. */
struct place_symbols {
	uint64_t start, size;  /* of the function, as linked; size 0: unknown */
	struct symbol *symbol; /* NULL: none */
	/* Calls inlined at the location, innermost first, and last the function. */
	struct inline_call calls[DEBUG_INFO_CALLS_MAX];
	size_t n_calls; /* 0: no inlined calls or lines known */
};

struct image_symbols;

/* What to read. */
struct image_symbols_options {
	enum image_symbols_depth depth;
	int kept; /* directory of symbols that were kept (kept-symbols.h); -1: none */
};

/*
 * Reads the symbols of `elf`, which must stay open. `path` is where it lies, `dirs` where separate
 * files may be; both are borrowed. 0 or -ENOMEM; a file without symbols has no names.
 */
int image_symbols_new(const struct elf_image *elf, const char *path, const struct debug_dirs *dirs,
		      const struct image_symbols_options *options, struct image_symbols **ret);
struct image_symbols *image_symbols_free(struct image_symbols *symbols);

/*
 * Finds the image's DWARF without reading it. image_symbols_size() includes the memory for it from
 * then on, so that room can be made.
 */
void image_symbols_find_debug(struct image_symbols *symbols);

/* Looks up a linked address. 0, or -ENOMEM with `ret` as far as memory allowed. */
int image_symbols_find(struct image_symbols *symbols, uint64_t address, struct place_symbols *ret);

/* The demangled name of a symbol that was found. */
const char *image_symbols_name(struct image_symbols *symbols, struct symbol *symbol);

/*
 * Takes the next step of keeping all that can be found, for some milliseconds at most, but for
 * large units. False: it was the last one, or they are not kept.
 */
bool image_symbols_keep(struct image_symbols *symbols);

/* Whether there is such a step. */
bool image_symbols_wait_to_be_kept(const struct image_symbols *symbols);

/* Whether what is found was kept by another run. */
bool image_symbols_were_kept(const struct image_symbols *symbols);

/* Approximate bytes in use. */
uint64_t image_symbols_size(const struct image_symbols *symbols);

/* Whether the image has readable DWARF; valid after image_symbols_find(). */
bool image_symbols_has_debug_info(const struct image_symbols *symbols);

/* Whether the image server has not answered yet about a file that may have more. */
bool image_symbols_is_late(const struct image_symbols *symbols);

/* The count of what was left out because of a limit or damage. */
uint64_t image_symbols_refused(const struct image_symbols *symbols);
