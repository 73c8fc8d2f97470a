/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ELF files of images, opened on first use and shared by all processes. Their number is
 * limited: the least recently used one is closed, and reopened on its next use. A file that cannot
 * be opened is tried again, but ever more rarely.
 */
#pragma once

#include "common/base/lru.h"
#include "common/elf/elf-image.h"
#include "common/stage/stage.h"

#define ELF_CACHE_TICK_NS 10000000ULL /* file times may lag by so much (jiffies) */

enum {
	ELF_CACHE_OPEN_MAX = 1024,
	ELF_CACHE_SPARE_FDS = 128, /* for the stage's other files, if descriptors are few */
	ELF_CACHE_OPEN_MIN = 16,
	ELF_CACHE_PATIENCE = 1024, /* requests until a failed open is tried again, at first */
};

struct elf_cache {
	struct stage *stage;	   /* borrowed */
	struct image_table *table; /* borrowed; the cache owns `data` of its images */
	struct image_client client;
	uint64_t unix_time_ahead; /* ns, Unix time minus the stream's clock; 0: unknown */
	struct lru open;	  /* open files (struct cached_file) */
	size_t n_open_max;
	size_t n_denied;	     /* files of a recorded stream that may not be read */
	char *denied_path;	     /* path of the first one */
	uint64_t weight, weight_max; /* bytes kept by the stage for open files; max 0: no limit */
	/* Called before a file is closed, so that no pointer into it remains; or NULL. */
	void (*before_close)(struct image *image, void *arg);
	void *arg;
};

int elf_cache_init(struct elf_cache *files, struct stage *stage, struct image_table *table,
		   const struct wire_hello *hello);
void elf_cache_deinit(struct elf_cache *files);

/*
 * Returns the file of an image; NULL if it cannot be opened. The first read emits image_id
 * (build-id, and file id even if it is not ELF) unless the stream has it. The file stays open until
 * another image's file is requested; the pointer is valid until the image exits.
 */
struct elf_image *elf_cache_get(struct elf_cache *files, struct image *image);

/*
 * Returns the stream's time of the last write to the file if it was mapped before that: earlier
 * samples show a content that is lost. 0: there was no such write.
 */
uint64_t elf_cache_not_before(struct elf_cache *files, struct image *image);

/*
 * Records that the stage keeps `weight` bytes for the file that it requested last, until that is
 * closed. If the sum is above weight_max, the least recently used other files are closed.
 */
void elf_cache_weigh(struct elf_cache *files, struct image *image, uint64_t weight);

/* Reopens a file that elf_cache_get() once returned; false: it is no longer available. */
bool elf_cache_reopen(struct elf_image *elf);

/* Whether the file was read and is no valid ELF file of this machine. */
bool elf_cache_has_other_data(const struct image *image);

/*
 * Whether a failed open may soon succeed: in a recorded stream the image server's finding comes a
 * little later than the image, and in a live one the server's answer may be late.
 */
bool elf_cache_is_undecided(const struct elf_cache *files, const struct image *image);
