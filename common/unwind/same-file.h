/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Images of one content: whoever has read the file of one of them need not read it again for the
 * others. A source numbers an image by what the kernel and a path tell; a stream that was forged
 * can give a large file any number of numbers, and each would cost what it takes to read the file.
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
 * The image that stands for a file's content: that of an earlier call with the same content, else
 * `image` itself from now on. What nobody vouches for (table_cache_key()) stands for itself.
 */
uint64_t same_files_find(struct same_files *files, const struct elf_image *file, uint64_t image);

/* From now on `image` stands for its content: the one before it has gone. */
void same_files_replace(struct same_files *files, const struct elf_image *file, uint64_t image);
