/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/unwind/table-cache.h"

/* The number changes with the layout or the meaning of tables or rules. */
static const struct kept_kind kind = {
	.directory = "unwind",
	.suffix = "table",
	.magic = "stackpipe unwind table 5",
	.named = offsetof(struct table_cache_key, build_id_size),
};

void table_cache_open(struct table_cache *cache)
{
	cache->dir_fd = kept_files_open(&kind);
}

void table_cache_close(struct table_cache *cache)
{
	if (cache->dir_fd >= 0)
		close(cache->dir_fd);
	cache->dir_fd = -1;
}

bool table_cache_key(const struct elf_image *file, struct table_cache_key *ret)
{
	struct wire_image_id id;

	memset(ret, 0, sizeof(*ret));
	if (file->fd < 0 || !file_key_of(file->fd, &ret->file))
		return false;
	elf_image_id(file, 0, &id);
	ret->machine = file->machine;
	ret->build_id_size = id.build_id.size;
	if (id.build_id.size)
		memcpy(ret->build_id, id.build_id.data, id.build_id.size);
	return true;
}

static int view(struct kept_file *file, struct unwind_table *ret)
{
	if (unwind_table_view(file->bytes, file->size, ret))
		return 0;
	kept_file_unmap(file);
	return -ENOENT;
}

int table_cache_load(const struct table_cache *cache, const struct table_cache_key *key,
		     struct unwind_table *ret, struct kept_file *ret_file)
{
	int r = kept_file_load(cache->dir_fd, &kind, key, sizeof(*key), ret_file);

	return r < 0 ? r : view(ret_file, ret);
}

int table_cache_load_of(const struct table_cache *cache, int file, uint32_t machine,
			struct unwind_table *ret, struct kept_file *ret_file)
{
	struct table_cache_key key = { .machine = machine };
	int r = -ENOENT;

	if (cache->dir_fd >= 0 && file_key_of(file, &key.file))
		r = kept_file_load_named(cache->dir_fd, &kind, &key, sizeof(key), ret_file);
	return r < 0 ? r : view(ret_file, ret);
}

int table_cache_save(const struct table_cache *cache, const struct table_cache_key *key,
		     const struct unwind_table *table)
{
	if (table->size < TABLE_CACHE_LEAST)
		return 0;
	return kept_file_save(cache->dir_fd, &kind, key, sizeof(*key), table->header, table->size);
}
