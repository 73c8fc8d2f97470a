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
	PLACES_NAMES_MAX = 1 << 22,
	PLACES_IMAGES_MAX = 1 << 18,
	PLACES_INLINED_MAX = 256, /* calls at a place */
	PLACES_IMAGE_KERNEL = 1,
	PLACES_IMAGE_NAMES, /* made up: of code, … */
	PLACES_IMAGE_JIT,   /* … and of a JIT compiler's */
	PLACES_IMAGE_FIRST,
};

struct places {
	struct stage *stage; /* borrowed */
	struct place_image *images;
	struct source_lines lines;
	struct pair_map lines_of; /* (image, 0) → its number in `lines` */
	struct pair_map told;	  /* (image, offset) → what was told of it, as a hash */
	struct pair_map made_up;  /* (hash of a name, kind) → offset */
	uint64_t n_images, n_processes, n_made_up;
	uint64_t n_retold; /* places that were called otherwise before */
	uint32_t n_mappings;
	bool has_kernel, has_names;
	uint64_t n_refused;
};

struct place_process {
	uint64_t number;
	uint32_t pid;
	struct mapping_table mappings;
	uint64_t n_changes; /* of its mappings */
	bool has_made_up;   /* the images that are made up are mapped */
};

/* How a place is called. */
struct place_name {
	const char *name; /* NULL or empty: it has none */
	const char *module;
	uint64_t start, size;
	const char *inlined[PLACES_INLINED_MAX]; /* calls in it, the innermost first */
	size_t n_inlined;
};

void places_init(struct places *places, struct stage *stage);
void places_deinit(struct places *places);

/* Before any image: the note with the lines of places, which is borrowed. 0 or -ENOMEM. */
int places_read_lines(struct places *places, const char *text, size_t size);

/* All of these return 0 or -errno of the output or of memory. */

/* A new process; `parent` NULL: it was found. Its mappings are its parent's. */
int places_add_process(struct places *places, struct place_process *process, uint32_t pid,
		       const char *name, const struct place_process *parent, uint64_t time);
int places_name_thread(struct places *places, const struct place_process *process, uint32_t tid,
		       const char *name, uint64_t time);
int places_exit_process(struct places *places, struct place_process *process, uint64_t time);

struct place_mapping {
	uint64_t start, end, offset, inode;
	const char *path, *build_id; /* build_id: hexadecimal, or NULL */
};

int places_map(struct places *places, struct place_process *process,
	       const struct place_mapping *mapping, uint64_t time);

/* The kernel, whose mapping is everybody's. */
int places_add_kernel(struct places *places, uint64_t time);

/*
 * A frame at an address, of user space or with WIRE_frame_flags_KERNEL; tells its name if that was
 * not told yet. Without a mapping or a name there is nothing to tell.
 */
int places_make_frame(struct places *places, const struct place_process *process, uint64_t address,
		      uint32_t flags, const struct place_name *name, struct wire_frame *ret);

enum place_kind { PLACE_CODE, PLACE_JIT, PLACE_KERNEL };

/* A frame that is nothing but its name. */
int places_make_up_frame(struct places *places, struct place_process *process, enum place_kind kind,
			 const struct place_name *name, uint64_t time, struct wire_frame *ret);

/* Why a stack ends, from what stands for it as a frame: "[stack-truncated]"; false: it is none. */
bool places_find_end(const char *text, uint32_t *ret_end);

/* A name's part in front of a mark like "_[i]"; false: it has no such mark. */
bool places_cut_mark(const char *name, const char *mark, char *ret, size_t size);

/*
 * The name of a frame without the mark of a caller that nothing proves, in `room` if it has one;
 * `flags` gets what the mark stands for.
 */
const char *places_cut_step_mark(const char *name, char *room, size_t size, uint32_t *flags);
