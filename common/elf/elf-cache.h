/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ELF files of images, opened when they are first needed and shared by all processes. Only so
 * many are open: the one that was not asked for the longest time is closed, and opened again when
 * it is needed again. What could not be had is tried again, but ever more rarely.
 */
#pragma once

#include "common/base/lru.h"
#include "common/elf/elf-image.h"
#include "common/stage/stage.h"

#define ELF_CACHE_TICK_NS 10000000ULL /* a time of change may be so far behind (jiffies) */

enum {
	ELF_CACHE_OPEN_MAX = 1024,
	ELF_CACHE_SPARE_FDS = 128, /* for whatever else the stage opens, if there are few */
	ELF_CACHE_OPEN_MIN = 16,
	ELF_CACHE_PATIENCE = 1024, /* times that a failure is believed, at first */
};

struct elf_cache {
	struct stage *stage;	   /* borrowed */
	struct image_table *table; /* borrowed; `data` of its images is ours */
	struct image_client client;
	uint64_t unix_time_ahead; /* of the stream's clock; 0: not known */
	struct lru open;	  /* files */
	size_t n_open_max;
	size_t n_denied;	     /* that may not be read, of a recorded stream */
	char *denied_path;	     /* of the first */
	uint64_t weight, weight_max; /* bytes that a stage keeps for open files; 0: no limit */
	/* Called before an image's file is closed, as nothing may point into it then; or NULL. */
	void (*before_close)(struct image *image, void *arg);
	void *arg;
};

int elf_cache_init(struct elf_cache *files, struct stage *stage, struct image_table *table,
		   const struct wire_hello *hello);
void elf_cache_deinit(struct elf_cache *files);

/*
 * The file of an image; NULL: it cannot be had. The first time it is read, its build-id and file id
 * are told downstream, unless somebody has done so; the file id also where it is no ELF file. It is
 * open until another image is asked for, and where it is stays so until the image is no more.
 */
struct elf_image *elf_cache_get(struct elf_cache *files, struct image *image);

/*
 * The file was written to when it was mapped already: samples before this are of a content that
 * nobody has. 0: it was not.
 */
uint64_t elf_cache_not_before(struct elf_cache *files, struct image *image);

/*
 * The stage keeps so many bytes for the file that it was given last, until this is closed: if all
 * together are too many, others are closed, those that were not asked for the longest time first.
 */
void elf_cache_weigh(struct elf_cache *files, struct image *image, uint64_t weight);

/* Opens a file again that elf_cache_get() has once given: false: it cannot be had any more. */
bool elf_cache_reopen(struct elf_image *elf);

/* Whether the file was read and is no ELF file of this machine. */
bool elf_cache_has_other_data(const struct image *image);

/*
 * Whether a file that could not be had is worth another try: in a recorded stream what the image
 * server found comes a little later than the image itself, and in a live one its answer may.
 */
bool elf_cache_is_undecided(const struct elf_cache *files, const struct image *image);
