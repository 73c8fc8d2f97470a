/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps tables on disk for the next live-unwinder (kept-file.h). A file is found by the device,
 * inode, size and times of the image (only root can make a changed file keep them) and its
 * build-id. Nothing is kept for files whose file system has no device of its own: see
 * file_device_lasts().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/elf-image.h"
#include "common/file/kept-file.h"
#include "common/stream/file-identity.h"
#include "common/unwind/unwind-table.h"

enum { TABLE_CACHE_LEAST = 8 * 1024 /* bytes; there are very many programs with smaller tables */ };

struct table_cache {
	int dir_fd; /* -1: no cache */
};

/* Identifies the file that a table was made from. */
struct table_cache_key {
	struct file_key file;
	uint32_t machine, build_id_size;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

/* Opens the directory of tables. If that fails, there is no cache. */
void table_cache_open(struct table_cache *cache);
void table_cache_close(struct table_cache *cache);

/* false: tables of this file must not be kept. */
bool table_cache_key(const struct elf_image *file, struct table_cache_key *ret);

/* 0; -ENOENT: there is none, or it is not trusted. */
int table_cache_load(const struct table_cache *cache, const struct table_cache_key *key,
		     struct unwind_table *ret, struct kept_file *ret_file);

/*
 * The same for an open file, whatever its build-id. It is for those who do not read what others may
 * have written (elf-image.h), and whose use of a table is checked.
 */
int table_cache_load_of(const struct table_cache *cache, int file, uint32_t machine,
			struct unwind_table *ret, struct kept_file *ret_file);

/* Writes a table, whole or not at all. 0 or -errno, which may be ignored. */
int table_cache_save(const struct table_cache *cache, const struct table_cache_key *key,
		     const struct unwind_table *table);
