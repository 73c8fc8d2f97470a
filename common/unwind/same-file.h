/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Images of one content, so that the file of only one of them is read. A source numbers an image by
 * what the kernel and a path show; a forged stream can give one large file any number of numbers,
 * each of which would cost another read.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/unwind/table-cache.h"

struct same_files {
	struct pair_map by_inode; /* (device, inode) → index in `list` */
	struct same_file *list;
	size_t n;
};

void same_files_init(struct same_files *files);
void same_files_deinit(struct same_files *files);

/*
 * Returns the image that represents a file's content: that of an earlier call, else `image` itself
 * from now on. Without a key (table_cache_key()) a file represents itself.
 */
uint64_t same_files_find(struct same_files *files, const struct elf_image *file, uint64_t image);

/* Makes `image` represent its content: the one before it has exited. */
void same_files_replace(struct same_files *files, const struct elf_image *file, uint64_t image);
