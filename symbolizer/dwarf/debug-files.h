/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds symbols or DWARF of a stripped file: a separate debug file, by build-id or .gnu_debuglink,
 * or (symbols) .gnu_debugdata in the file itself. A separate file is trusted only if its build-id
 * matches (or, without one, its CRC), and no one else may have written it (file-trust.h).
 */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/file/file-trust.h"
#include "common/image-server/image-client.h"

enum {
	DEBUG_DIRS_MAX = 16,
	DEBUG_DATA_MAX = 64 * 1024 * 1024,     /* bytes of .gnu_debugdata, decompressed */
	DEBUG_DATA_MEMORY = 128 * 1024 * 1024, /* bytes, for decompressing it */
	DEBUG_CRC_MAX = 1 << 30,	       /* bytes of a file identified by CRC */
};

struct debug_dirs {
	const char *list[DEBUG_DIRS_MAX]; /* like /usr/lib/debug */
	size_t n;
	struct image_client *client;  /* for a container's debug files; NULL: none */
	uint64_t image;		      /* the image, for `client` */
	const char *debuginfod_cache; /* NULL: not used */
	struct file_trust *trust;     /* for every file found; borrowed */
	struct file_writers asker;    /* who may write the image's file */
};

struct debug_file {
	Elf *elf;
	int fd;		 /* -1: in memory */
	void *memory;	 /* decompressed */
	char *path;	 /* NULL: in memory */
	size_t n_hidden; /* sections beyond the limits of elf-limits.h */
	bool is_late;	 /* none found, but the image server has not answered yet */
};

/* DEBUG_FILE_SYMBOLS may be in the stripped file itself. */
enum debug_file_need { DEBUG_FILE_SYMBOLS, DEBUG_FILE_SEPARATE_SYMBOLS, DEBUG_FILE_DWARF };

/* Finds a file that has what is needed; false: none. `path` is where the stripped file lies. */
bool debug_file_find(Elf *elf, const char *path, const struct debug_dirs *dirs,
		     enum debug_file_need need, struct debug_file *ret);
void debug_file_close(struct debug_file *file);

/* Bytes of memory while it is open, without DWARF; 0: no file. */
uint64_t debug_file_size(const struct debug_file *file);

/* Opens a path if it is a trusted, regular ELF file; the caller checks whether it is the one. */
bool debug_file_open(const char *path, const struct debug_dirs *dirs, struct debug_file *ret);

/* Writes <dir>/.build-id/xx/yyyy….debug, only hexadecimal digits of the id; false: no such path. */
bool debug_file_build_id_path(const char *dir, const unsigned char *id, size_t size, char *ret,
			      size_t ret_size);
