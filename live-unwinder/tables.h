/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The unwind tables of images, each made when a sample first needs it. */
#pragma once

#include "common/image-files.h"
#include "common/pair-map.h"
#include "common/unwind-table.h"

/* What is known of an image's table. */
enum table_state {
	TABLE_READY,
	TABLE_PENDING,	/* ask again */
	TABLE_NO_FILE,	/* the image has no file, or it cannot be had, or is no ELF file */
	TABLE_UNUSABLE, /* there is information that no table can be made of */
};

struct image_table_entry {
	struct unwind_table table;
	uint32_t id; /* unique, never 0 */
	enum table_state state;
	enum wire_stack_end end;   /* of a stack whose last frame is in an image without a file */
	const struct image *image; /* NULL: the stream has not told it */
};

struct tables {
	struct image_files *files; /* borrowed */
	struct pair_map by_image;  /* (image, 0) → struct image_table_entry * */
	uint32_t n;
	uint64_t *n_compiled; /* a counter of the stage */
};

void tables_init(struct tables *tables, struct image_files *files);
void tables_deinit(struct tables *tables);

/* The table of an image, made if it is not there; NULL: no memory, or too many images. */
const struct image_table_entry *tables_get(struct tables *tables, uint64_t image);
