/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What traced programs look their rules up in: the unwind tables of images, each once for all
 * programs, and a list of mappings for each process. Programs can only read it.
 */
#pragma once

#include "preload-source/shared/heap-ring.h"
#include "common/source/images.h"
#include "common/stream/mapping-table.h"
#include "common/base/pair-map.h"
#include "common/unwind/table-cache.h"
#include "preload-source/reader/shared-memory.h"

enum {
	PUBLISHED_IMAGES_MAX = 1 << 16,
	PUBLISHED_OPEN_MS = 2000, /* the image server is given so long for the files of a process */
};

struct published_table {
	enum heap_mapping_kind kind;
	uint64_t offset, size;
};

struct published {
	struct stage *stage;   /* borrowed */
	struct images *images; /* borrowed */
	struct shared_memory memory;
	uint64_t used; /* bytes */
	struct table_cache cache;
	struct pair_map by_image; /* (image, 0) → index of `tables` */
	struct published_table *tables;
	size_t n_tables;
	uint64_t *free_lists; /* offsets of lists that no process has any more */
	size_t n_free_lists;
};

/* 0 or -errno */
int published_init(struct published *published, struct stage *stage, struct images *images);
void published_deinit(struct published *published);

/* A list for a process, by its offset in the memory. 0; -ENOSPC: there are too many; -ENOMEM. */
int published_add_list(struct published *published, uint64_t *ret_offset);
void published_remove_list(struct published *published, uint64_t offset);

/*
 * Fills a list, and makes the tables that it needs; `answers` is how much was wanted. 0 or -errno
 * of the output.
 */
int published_update(struct published *published, uint64_t list,
		     const struct mapping_table *mappings, uint32_t answers);
