/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables on disk, for the next live-unwinder: a file each in a directory of the user's own, mapped
 * as it is. A file is found by what it was made of (device, inode, size, times of the image: nobody
 * but root can make a changed file look unchanged to them) and its build-id, and believed if its
 * checksum says that it is whole; any other is ignored, and replaced. Of files whose file system
 * has no device of its own nothing is kept: see file_device_lasts().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/elf-image.h"
#include "common/unwind/unwind-table.h"

enum {
	TABLE_CACHE_LEAST = 64 * 1024, /* bytes of a table: smaller ones are made as fast as read */
	TABLE_CACHE_FILES_MAX = 1024,  /* beyond that those unused for the longest time go */
};

struct table_cache {
	int dir_fd; /* -1: there is none */
};

/* What a table was made of. */
struct table_cache_key {
	uint64_t device, inode, size, modified_ns, changed_ns;
	uint32_t machine, build_id_size;
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

/* A table whose bytes are a file's. */
struct cached_table_file {
	void *bytes; /* NULL: none */
	size_t size;
};

/* Opens $XDG_CACHE_HOME/stackpipe/unwind, made if need be. Without it there is no cache. */
void table_cache_open(struct table_cache *cache);
void table_cache_close(struct table_cache *cache);

/* false: tables of this file are not to be kept. */
bool table_cache_key(const struct elf_image *file, struct table_cache_key *ret);

/* 0; -ENOENT: it is not there, or not to be believed. */
int table_cache_load(const struct table_cache *cache, const struct table_cache_key *key,
		     struct unwind_table *ret, struct cached_table_file *ret_file);
void table_cache_unmap(struct cached_table_file *file);

/* Writes a table for others, whole or not at all. 0 or -errno, of no consequence here. */
int table_cache_save(const struct table_cache *cache, const struct table_cache_key *key,
		     const struct unwind_table *table);
