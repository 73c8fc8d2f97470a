/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The unwind tables that the kernel has: one slot for each image whose code is mapped. Once the
 * kernel has met code of an image, its table is taken from those that live-unwinder has kept on
 * disk, or else compiled by a helper (table-maker.h); here it is only copied.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/source/images.h"
#include "common/unwind/table-cache.h"
#include "perf-source/bpf/unwind-program.h"
#include "perf-source/unwind/table-maker.h"

enum { TABLE_SLOT_NONE = 0 }; /* of images without a table */

#define TABLE_SLOTS_SIZE_MAX (512ULL << 20) /* bytes of all tables */

struct table_slot {
	uint64_t image; /* 0: free */
	uint64_t size;	/* of its table */
	bool is_tried;
};

struct table_slots {
	struct unwind_program *program; /* borrowed */
	struct images *images;		/* borrowed */
	struct pair_map by_image;	/* (image, 0) → slot */
	struct table_slot *list;	/* UNWIND_IMAGES_MAX of them */
	uint32_t n;			/* used so far */
	uint64_t size;			/* of all tables */
	int vdso;			/* its bytes as a file */
	struct table_cache cache;
	struct table_maker maker;
	uint32_t making[TABLE_MAKER_FILES_MAX]; /* the slots of its files */
	uint64_t n_made, n_kept, n_refused;
};

/* Without a cache its `dir_fd` is -1; it is closed here. 0 or -ENOMEM. */
int table_slots_init(struct table_slots *slots, struct unwind_program *program,
		     struct images *images, struct table_cache cache);
void table_slots_deinit(struct table_slots *slots);

/* The slot of an image; TABLE_SLOT_NONE: it is no file, or there are too many. */
uint32_t table_slots_find(struct table_slots *slots, uint64_t image);

/* From now on the kernel has no table of an image whose file has changed. */
void table_slots_check(struct table_slots *slots, uint64_t image);

/* Has tables compiled that the kernel lacks, and takes over those that are done. */
void table_slots_attend(struct table_slots *slots);

/* Frees the slots of images that are no longer mapped. */
void table_slots_sweep(struct table_slots *slots);

/* A descriptor that is readable once a helper has compiled some; -1: there is none. */
int table_slots_helper(const struct table_slots *slots);

/* Whether tables are being compiled. */
bool table_slots_are_coming(const struct table_slots *slots);
