/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of places in files: tells what was inlined there, and the symbol with its line. What is
 * read of each image stays until its file is closed.
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "common/base/pair-map.h"
#include "common/unwind/same-file.h"
#include "symbolizer/downloads.h"
#include "symbolizer/symbols/image-symbols.h"

#define FILE_NAMES_SIZE_MAX (448ULL << 20) /* bytes of all images' symbols; one may be larger */

struct file_names {
	struct stage *stage; /* borrowed */
	struct elf_cache files;
	struct debug_dirs dirs;
	enum image_symbols_depth depth;
	struct downloads downloads;
	struct pair_map symbols; /* (image, 0) → struct image_symbols * */
	struct pair_map same; /* (image, 0) → the image with the same file whose symbols are used */
	struct same_files same_files;
	struct pair_map counts;	 /* (image, 0) → count of samples in it: it has no DWARF */
	struct pair_map late;	 /* (image, 0) → times that it was asked for, if never answered */
	uint64_t asked_again_at; /* when those are looked for again; 0: none is */
	struct place_symbols found;
	uint64_t *n_inlined;
	uint64_t n_refused; /* by symbols that are gone */
};

/* Before the options are read, which set `dirs`, `depth` and the mode of `downloads`. */
void file_names_init(struct file_names *names);

/* Once the stream has begun: 0 or -errno. */
int file_names_begin(struct file_names *names, struct stage *stage, struct image_table *images,
		     const struct wire_hello *hello);

/* After the table of images, which has the files. */
void file_names_deinit(struct file_names *names);

/* Fills in the symbol of a place, and tells it with what was inlined there. 0 or -errno. */
int file_names_put(struct file_names *names, struct image *image, struct wire_symbol *symbol);

/* Where samples in an image are counted because it has no debug information; NULL: it has. */
uint64_t *file_names_count(const struct file_names *names, uint64_t image);

/*
 * Looks whether debug files have been downloaded, or may be had from the image server by now. True:
 * places may have more names than were told, and what was kept of any of them holds no more.
 */
bool file_names_take_late(struct file_names *names);

/* After images have ended. */
void file_names_forget_ended(struct file_names *names);

/* At the end: counts the files that are not believed, also of a replayed stream, and says why. */
void file_names_report_untrusted(const struct file_names *names);

/* What was left out for a limit, or as it is damaged. */
uint64_t file_names_refused(const struct file_names *names);
