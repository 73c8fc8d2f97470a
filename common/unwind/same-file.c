/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/stream/image-table.h"
#include "common/unwind/same-file.h"

struct same_file {
	struct table_cache_key key;
	uint64_t image;
};

void same_files_init(struct same_files *files)
{
	*files = (struct same_files){ 0 };
	pair_map_init(&files->by_inode, IMAGE_TABLE_MAX);
}

void same_files_deinit(struct same_files *files)
{
	pair_map_deinit(&files->by_inode);
	free(files->list);
	*files = (struct same_files){ 0 };
}

/* Without room or memory a file is not grouped with others. */
static struct same_file *add(struct same_files *files, const struct table_cache_key *key)
{
	if (GROWING_LIST_MAKE_ROOM(files->list, files->n) < 0 ||
	    pair_map_add(&files->by_inode, key->file.device, key->file.inode, files->n) < 0)
		return NULL;
	return &files->list[files->n++];
}

/* The entry of a file's inode, made if needed, for any content; NULL: none can be made. */
static struct same_file *find(struct same_files *files, const struct elf_image *file,
			      struct table_cache_key *ret_key)
{
	uint64_t *known;
	struct same_file *same;

	if (!table_cache_key(file, ret_key))
		return NULL;
	known = pair_map_find(&files->by_inode, ret_key->file.device, ret_key->file.inode);
	if (known)
		return &files->list[*known];
	same = add(files, ret_key);
	if (same)
		*same = (struct same_file){ .image = 0 };
	return same;
}

uint64_t same_files_find(struct same_files *files, const struct elf_image *file, uint64_t image)
{
	struct table_cache_key key;
	struct same_file *same = find(files, file, &key);

	if (!same)
		return image;
	if (!same->image || memcmp(&same->key, &key, sizeof(key)))
		*same = (struct same_file){ key, image };
	return same->image;
}

void same_files_replace(struct same_files *files, const struct elf_image *file, uint64_t image)
{
	struct table_cache_key key;
	struct same_file *same = find(files, file, &key);

	if (same)
		*same = (struct same_file){ key, image };
}
