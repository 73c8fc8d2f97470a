/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All that is known of the functions of one image, each part read when a place first needs it: its
 * symbols, where it has none the bounds of its functions, and its DWARF, which may lie in a
 * separate file.
 */
#pragma once

#include "common/elf/elf-image.h"
#include "symbolizer/dwarf/debug-info.h"

enum image_symbols_depth { IMAGE_SYMBOLS_INLINED, IMAGE_SYMBOLS_FUNCTIONS_ONLY };

/* What the symbols of a place are. Names are as linked; they live as long as the image_symbols. */
struct place_symbols {
	uint64_t start, size;  /* of the function, as linked; size 0: not known */
	struct symbol *symbol; /* NULL: it has none */
	/* The calls that were inlined at the place, the innermost first, and last the function. */
	struct inline_call calls[DEBUG_INFO_CALLS_MAX];
	size_t n_calls; /* 0: neither inlined calls nor lines are known */
};

struct image_symbols;

/*
 * Reads the symbols of `elf`, which must stay open. `path` is where it lies, `dirs` where separate
 * files may; both must stay. 0 or -ENOMEM; of a file without symbols nothing is found.
 */
int image_symbols_new(const struct elf_image *elf, const char *path, const struct debug_dirs *dirs,
		      enum image_symbols_depth depth, struct image_symbols **ret);
struct image_symbols *image_symbols_free(struct image_symbols *symbols);

/*
 * Looks for the image's DWARF, but does not read it yet: that it will take memory is part of
 * image_symbols_size() from then on, so that there can be room for it.
 */
void image_symbols_find_debug(struct image_symbols *symbols);

/*
 * What is known of an address, as linked. 0; or -ENOMEM: in `ret` is what could be had without.
 */
int image_symbols_find(struct image_symbols *symbols, uint64_t address, struct place_symbols *ret);

/* The name of a symbol that was found, demangled. */
const char *image_symbols_name(struct image_symbols *symbols, struct symbol *symbol);

/* Bytes that they take by now, about. */
uint64_t image_symbols_size(const struct image_symbols *symbols);

/* Whether the image has DWARF that can be read; asked for once a place of it has been. */
bool image_symbols_has_debug_info(const struct image_symbols *symbols);

/* Whether the image server had no answer yet about a file that may have more. */
bool image_symbols_is_late(const struct image_symbols *symbols);

/* What was left out for a limit, or as it is damaged. */
uint64_t image_symbols_refused(const struct image_symbols *symbols);
