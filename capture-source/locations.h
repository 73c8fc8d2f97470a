/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a stream's records from a capture: numbers processes, images and mappings, and emits the
 * name of each location before the first stack with it. A name without a meaningful address (a
 * jitmap entry, a frame of folded text) gets a location in a synthetic image.
 */
#pragma once

#include "capture-source/image-notes.h"
#include "capture-source/source-lines.h"
#include "common/base/pair-map.h"
#include "common/script/script-place.h"
#include "common/stage/stage.h"
#include "common/stream/mapping-table.h"

enum {
	LOCATIONS_NAMES_MAX = 1 << 22,
	LOCATIONS_IMAGES_MAX = 1 << 18,
	LOCATIONS_INLINED_MAX = 256, /* calls at a location */
	LOCATIONS_IMAGE_KERNEL = 1,
	LOCATIONS_IMAGE_NAMES, /* synthetic: code */
	LOCATIONS_IMAGE_JIT,   /* synthetic: code of a JIT compiler */
	LOCATIONS_IMAGE_FIRST,
};

struct locations {
	struct stage *stage; /* borrowed */
	struct place_image *images;
	struct source_lines lines;
	struct image_notes notes;
	struct pair_map lines_of;  /* (image, 0) → number in `lines` */
	struct pair_map emitted;   /* (image, offset) → hash of the name emitted last */
	struct pair_map synthetic; /* (hash of a name, kind) → number */
	uint64_t n_images, n_processes, n_synthetic;
	uint64_t n_retold; /* locations whose name has changed */
	uint32_t n_mappings;
	struct mapping scripts[SCRIPT_LANGUAGES_MAX]; /* of all processes */
	bool has_scripts[SCRIPT_LANGUAGES_MAX];
	bool has_kernel, has_names;
	uint64_t n_refused;
};

struct location_process {
	uint64_t number;
	uint32_t pid;
	struct mapping_table mappings;
	uint64_t n_changes; /* of its mappings */
	bool has_synthetic; /* the synthetic images are mapped */
};

/* The name of a location. */
struct location_name {
	const char *name; /* NULL or empty: none */
	const char *module;
	uint64_t start, size;
	const char *inlined[LOCATIONS_INLINED_MAX]; /* inlined calls, the innermost first */
	size_t n_inlined;
};

void locations_init(struct locations *locations, struct stage *stage);
void locations_deinit(struct locations *locations);

/* Reads the note with source lines, before any image; `text` is borrowed. 0 or -ENOMEM. */
int locations_read_lines(struct locations *locations, const char *text, size_t size);

/* The same of the note with images. */
int locations_read_images(struct locations *locations, const char *text, size_t size);

/* All of these return 0, -ENOMEM or -errno of the output. */

/* A new process with its parent's mappings; `parent` NULL: it existed before. */
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

/* Adds the kernel, once; all processes share its mapping. */
int locations_add_kernel(struct locations *locations, uint64_t time);

/*
 * Makes a frame at an address, of user space or with WIRE_frame_flags_KERNEL. Emits its name,
 * unless it was emitted before, or there is no name or mapping.
 */
int locations_make_frame(struct locations *locations, const struct location_process *process,
			 uint64_t address, uint32_t flags, const struct location_name *name,
			 struct wire_frame *ret);

enum location_kind { LOCATION_CODE, LOCATION_JIT, LOCATION_KERNEL };

/* Makes a frame that consists only of its name. */
int locations_make_synthetic_frame(struct locations *locations, struct location_process *process,
				   enum location_kind kind, const struct location_name *name,
				   uint64_t time, struct wire_frame *ret);

/* The end reason that a frame like "[stack-truncated]" stands for; false: none. */
bool locations_find_end(const char *text, uint32_t *ret_end);

/* Cuts a mark like "_[i]" off a name; false: the name does not have it. */
bool locations_cut_mark(const char *name, const char *mark, char *ret, size_t size);

/*
 * Cuts off the mark of a caller found without proof, and sets its flag in `flags`. The result is in
 * `room` if there was a mark.
 */
const char *locations_cut_step_mark(const char *name, char *room, size_t size, uint32_t *flags);
