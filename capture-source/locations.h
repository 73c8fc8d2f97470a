/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a stream's records of what a capture says: numbers for processes, images and mappings, and
 * the name of each place before the first stack that has it. What has a name but no address that
 * means anything (an entry of a jitmap, a line of folded text) gets a place in an image made up for
 * that.
 */
#pragma once

#include "capture-source/source-lines.h"
#include "common/stream/mapping-table.h"
#include "common/base/pair-map.h"
#include "common/stage/stage.h"

enum {
	LOCATIONS_NAMES_MAX = 1 << 22,
	LOCATIONS_IMAGES_MAX = 1 << 18,
	LOCATIONS_INLINED_MAX = 256, /* calls at a place */
	LOCATIONS_IMAGE_KERNEL = 1,
	LOCATIONS_IMAGE_NAMES, /* made up: of code, … */
	LOCATIONS_IMAGE_JIT,   /* … and of a JIT compiler's */
	LOCATIONS_IMAGE_FIRST,
};

struct locations {
	struct stage *stage; /* borrowed */
	struct place_image *images;
	struct source_lines lines;
	struct pair_map lines_of;  /* (image, 0) → its number in `lines` */
	struct pair_map emitted;   /* (image, offset) → what was told of it, as a hash */
	struct pair_map synthetic; /* (hash of a name, kind) → offset */
	uint64_t n_images, n_processes, n_synthetic;
	uint64_t n_retold; /* places that were called otherwise before */
	uint32_t n_mappings;
	bool has_kernel, has_names;
	uint64_t n_refused;
};

struct location_process {
	uint64_t number;
	uint32_t pid;
	struct mapping_table mappings;
	uint64_t n_changes; /* of its mappings */
	bool has_synthetic; /* the images that are made up are mapped */
};

/* How a place is called. */
struct location_name {
	const char *name; /* NULL or empty: it has none */
	const char *module;
	uint64_t start, size;
	const char *inlined[LOCATIONS_INLINED_MAX]; /* calls in it, the innermost first */
	size_t n_inlined;
};

void locations_init(struct locations *locations, struct stage *stage);
void locations_deinit(struct locations *locations);

/* Before any image: the note with the lines of places, which is borrowed. 0 or -ENOMEM. */
int locations_read_lines(struct locations *locations, const char *text, size_t size);

/* All of these return 0 or -errno of the output or of memory. */

/* A new process; `parent` NULL: it was found. Its mappings are its parent's. */
int locations_add_process(struct locations *locations, struct location_process *process,
			  uint32_t pid, const char *name, const struct location_process *parent,
			  uint64_t time);
int locations_name_thread(struct locations *locations, const struct location_process *process,
			  uint32_t tid, const char *name, uint64_t time);
int locations_exit_process(struct locations *locations, struct location_process *process,
			   uint64_t time);

struct location_mapping {
	uint64_t start, end, offset, inode;
	const char *path, *build_id; /* build_id: hexadecimal, or NULL */
};

int locations_map(struct locations *locations, struct location_process *process,
		  const struct location_mapping *mapping, uint64_t time);

/* The kernel, whose mapping is everybody's. */
int locations_add_kernel(struct locations *locations, uint64_t time);

/*
 * A frame at an address, of user space or with WIRE_frame_flags_KERNEL; tells its name if that was
 * not told yet. Without a mapping or a name there is nothing to tell.
 */
int locations_make_frame(struct locations *locations, const struct location_process *process,
			 uint64_t address, uint32_t flags, const struct location_name *name,
			 struct wire_frame *ret);

enum location_kind { LOCATION_CODE, LOCATION_JIT, LOCATION_KERNEL };

/* A frame that is nothing but its name. */
int locations_make_synthetic_frame(struct locations *locations, struct location_process *process,
				   enum location_kind kind, const struct location_name *name,
				   uint64_t time, struct wire_frame *ret);

/* Why a stack ends, from what stands for it as a frame: "[stack-truncated]"; false: it is none. */
bool locations_find_end(const char *text, uint32_t *ret_end);

/* A name's part in front of a mark like "_[i]"; false: it has no such mark. */
bool locations_cut_mark(const char *name, const char *mark, char *ret, size_t size);

/*
 * The name of a frame without the mark of a caller that nothing proves, in `room` if it has one;
 * `flags` gets what the mark stands for.
 */
const char *locations_cut_step_mark(const char *name, char *room, size_t size, uint32_t *flags);
