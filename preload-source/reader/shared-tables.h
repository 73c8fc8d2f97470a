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
	SHARED_TABLES_IMAGES_MAX = 1 << 16,
	SHARED_TABLES_OPEN_MS =
		2000, /* the image server is given so long for the files of a process */
};

struct shared_table {
	enum heap_mapping_kind kind;
	uint64_t offset, size;
};

struct shared_tables {
	struct stage *stage;   /* borrowed */
	struct images *images; /* borrowed */
	struct shared_memory memory;
	uint64_t used; /* bytes */
	struct table_cache cache;
	struct pair_map by_image; /* (image, 0) → index of `tables` */
	struct shared_table *tables;
	size_t n_tables;
	uint64_t *free_lists; /* offsets of lists that no process has any more */
	size_t n_free_lists;
};

/* 0 or -errno */
int shared_tables_init(struct shared_tables *shared, struct stage *stage, struct images *images);
void shared_tables_deinit(struct shared_tables *shared);

/* A list for a process, by its offset in the memory. 0; -ENOSPC: there are too many; -ENOMEM. */
int shared_tables_add_list(struct shared_tables *shared, uint64_t *ret_offset);
void shared_tables_remove_list(struct shared_tables *shared, uint64_t offset);

/*
 * Fills a list, and makes the tables that it needs; `answers` is how much was wanted. 0 or -errno
 * of the output.
 */
int shared_tables_update(struct shared_tables *shared, uint64_t list,
			 const struct mapping_table *mappings, uint32_t answers);
