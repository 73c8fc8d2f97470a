/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the symbols or the DWARF of a stripped file may be: a separate debug file, by build-id or
 * .gnu_debuglink, or (symbols) .gnu_debugdata in the file itself. A separate file is believed only
 * if its build-id is the same (or, where there is none, its CRC), and nobody else may have written
 * it (file-trust.h).
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/file/file-trust.h"
#include "common/image-server/image-client.h"

enum {
	DEBUG_DIRS_MAX = 16,
	DEBUG_DATA_MAX = 64 * 1024 * 1024,     /* of .gnu_debugdata, decompressed */
	DEBUG_DATA_MEMORY = 128 * 1024 * 1024, /* for decompressing it */
	DEBUG_CRC_MAX = 1 << 30,	       /* bytes of a file that is told by its CRC */
};

struct debug_dirs {
	const char *list[DEBUG_DIRS_MAX]; /* like /usr/lib/debug */
	size_t n;
	struct image_client *client;  /* has those of a container's own; NULL: nobody has */
	uint64_t image;		      /* … of this image */
	const char *debuginfod_cache; /* what debuginfod clients have downloaded; NULL: not used */
	struct file_trust *trust;     /* in whatever is found; borrowed */
	struct file_writers asker;    /* those of the image that asks */
};

struct debug_file {
	Elf *elf;
	int fd;		 /* -1: in memory */
	void *memory;	 /* decompressed */
	char *path;	 /* NULL: in memory */
	size_t n_hidden; /* sections that are beyond the limits of elf-limits.h */
	bool is_late;	 /* there is none, but the image server had no answer about one yet */
};

enum debug_file_need { DEBUG_FILE_SYMBOLS, DEBUG_FILE_DWARF };

/* Finds a file that has what is needed; false: there is none. `path` is where the first one lies.
 */
bool debug_file_find(Elf *elf, const char *path, const struct debug_dirs *dirs,
		     enum debug_file_need need, struct debug_file *ret);
void debug_file_close(struct debug_file *file);

/* Bytes that it takes while it is open, but for DWARF; 0: there is none. */
uint64_t debug_file_size(const struct debug_file *file);

/*
 * Opens what lies at a path, if it is a regular file and ELF, and believed. Whether it is meant is
 * another thing.
 */
bool debug_file_open(const char *path, const struct debug_dirs *dirs, struct debug_file *ret);

/*
 * <dir>/.build-id/xx/yyyy….debug; false: there is no such path. Only hexadecimal digits of the id
 * ever reach a path.
 */
bool debug_file_build_id_path(const char *dir, const unsigned char *id, size_t size, char *ret,
			      size_t ret_size);
