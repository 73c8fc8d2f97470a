/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names locations in files: emits inlined calls, and the symbol with its line. Data read from an
 * image stays until its file is closed.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/elf/elf-cache.h"
#include "common/unwind/same-file.h"
#include "symbolizer/downloads.h"
#include "symbolizer/symbols/image-symbols.h"

#define FILE_NAMES_SIZE_MAX (448ULL << 20) /* bytes of all images' symbols, or one larger */

struct file_names {
	struct stage *stage; /* borrowed */
	struct elf_cache files;
	struct debug_dirs dirs;
	struct image_symbols_options options;
	struct downloads downloads;
	struct pair_map symbols; /* (image, 0) → struct image_symbols * */
	struct pair_map same;	 /* (image, 0) → image of the same file whose symbols are used */
	struct same_files same_files;
	struct pair_map counts;	 /* (image, 0) → counter of its samples, if it has no DWARF */
	struct pair_map late;	 /* (image, 0) → number of lookups, if never answered */
	uint64_t asked_again_at; /* next lookup of those; 0: none */
	struct place_symbols found;
	struct image_symbols *keeping; /* whose symbols are being kept on disk; NULL: none */
	bool may_keep;		       /* some may have to be kept */
	uint64_t *n_inlined, *n_from_disk;
	uint64_t n_refused; /* by symbols that were freed */
};

/* Call before options are parsed, which set `dirs`, `options` and the mode of `downloads`. */
void file_names_init(struct file_names *names);

/* Called at the start of the stream. 0 or -errno. */
int file_names_begin(struct file_names *names, struct stage *stage, struct image_table *images,
		     const struct wire_hello *hello);

/* Call after the image table, which owns the files, is freed. */
void file_names_deinit(struct file_names *names);

/* Fills in the symbol of a location, and emits it with its inlined calls. 0 or -errno. */
int file_names_put(struct file_names *names, struct image *image, struct wire_symbol *symbol);

/* The counter of samples in an image without debug information; NULL: it has some. */
uint64_t *file_names_count(const struct file_names *names, uint64_t image);

/*
 * Goes on keeping on disk what was read of images, for some milliseconds, while nobody waits for
 * names. False: nothing is left to do.
 */
bool file_names_keep(struct file_names *names);

/*
 * Checks for debug files that were downloaded, or that the image server may have by now. True:
 * locations may have more names than were emitted, and caches of them are invalid.
 */
bool file_names_take_late(struct file_names *names);

/* Call after images have ended. */
void file_names_forget_ended(struct file_names *names);

/* At the end, also of a replayed stream: counts untrusted files, and reports the reason. */
void file_names_report_untrusted(const struct file_names *names);

/* The count of what was left out because of a limit or damage. */
uint64_t file_names_refused(const struct file_names *names);
