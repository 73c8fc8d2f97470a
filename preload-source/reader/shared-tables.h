/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where traced programs look up unwind rules: unwind tables of images, shared by all programs, and
 * a list of mappings per process. Programs can only read it.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/source/images.h"
#include "common/stream/mapping-table.h"
#include "common/unwind/table-cache.h"
#include "preload-source/reader/shared-memory.h"
#include "preload-source/shared/heap-ring.h"

enum {
	SHARED_TABLES_IMAGES_MAX = 1 << 16,
	SHARED_TABLES_OPEN_MS = 2000, /* timeout of the image server for the files of a process */
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
	uint64_t *free_lists; /* offsets of unused lists */
	size_t n_free_lists;
};

/* 0 or -errno */
int shared_tables_init(struct shared_tables *shared, struct stage *stage, struct images *images);
void shared_tables_deinit(struct shared_tables *shared);

/* Makes a process's list at an offset of the memory. 0; -ENOSPC: no room. */
int shared_tables_add_list(struct shared_tables *shared, uint64_t *ret_offset);
void shared_tables_remove_list(struct shared_tables *shared, uint64_t offset);

/* Fills a list and makes its tables; `answers`: heap_region.wanted. 0 or -errno of the output. */
int shared_tables_update(struct shared_tables *shared, uint64_t list,
			 const struct mapping_table *mappings, uint32_t answers);
