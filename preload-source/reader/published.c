/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/unwind/unwind-source.h"
#include "preload-source/reader/published.h"

enum { ALIGNMENT = 64 };

int published_init(struct published *published, struct stage *stage, struct images *images)
{
	*published = (struct published){
		.stage = stage,
		.images = images,
		.memory.fd = -1,
		.cache.dir_fd = -1,
	};
	pair_map_init(&published->by_image, PUBLISHED_IMAGES_MAX);
	table_cache_open(&published->cache);
	return shared_memory_make(&published->memory, "stackpipe-tables", HEAP_TABLES_SIZE,
				  SHARED_WITH_READERS);
}

void published_deinit(struct published *published)
{
	pair_map_deinit(&published->by_image);
	table_cache_close(&published->cache);
	shared_memory_deinit(&published->memory);
	free(published->tables);
	free(published->free_lists);
}

/* Room for so many bytes; -ENOSPC: there is none. */
static int allocate(struct published *published, uint64_t size, uint64_t *ret)
{
	uint64_t at = (published->used + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);

	if (size > published->memory.size - at)
		return -ENOSPC;
	published->used = at + size;
	*ret = at;
	return 0;
}

static struct heap_mappings *list_at(const struct published *published, uint64_t offset)
{
	return (void *)((char *)published->memory.bytes + offset);
}

int published_add_list(struct published *published, uint64_t *ret_offset)
{
	int r = 0;

	if (published->n_free_lists)
		*ret_offset = published->free_lists[--published->n_free_lists];
	else
		r = allocate(published, sizeof(struct heap_mappings), ret_offset);
	if (r == 0)
		memset(list_at(published, *ret_offset), 0, sizeof(struct heap_mappings));
	return r;
}

void published_remove_list(struct published *published, uint64_t offset)
{
	/* Without memory to note it, its place is lost. */
	if (GROWING_LIST_MAKE_ROOM(published->free_lists, published->n_free_lists) == 0)
		published->free_lists[published->n_free_lists++] = offset;
}

/* Copies a table to where programs see it. */
static void publish_table(struct published *published, const struct unwind_table *table,
			  struct published_table *ret)
{
	if (allocate(published, table->size, &ret->offset) < 0) {
		++*counters_get(&published->stage->counters, "refused", "published-tables");
		return;
	}
	memcpy((char *)published->memory.bytes + ret->offset, table->header, table->size);
	ret->size = table->size;
	ret->kind = HEAP_MAPPING_TABLE;
}

/* From disk if it is there, else made now: the program waits. */
static void make_table(struct published *published, const struct elf_image *file,
		       struct published_table *ret)
{
	struct table_cache_key key;
	struct cached_table_file cached;
	struct unwind_table table;
	struct unwind_bytes bytes;
	bool has_key = table_cache_key(file, &key);

	if (has_key && table_cache_load(&published->cache, &key, &table, &cached) == 0) {
		publish_table(published, &table, ret);
		table_cache_unmap(&cached);
		return;
	}
	if (unwind_bytes_read(file, &bytes) < 0)
		return;
	if (!bytes.source.n_sections) {
		ret->kind = HEAP_MAPPING_BARE;
	} else if (unwind_table_compile(&bytes.source, &table) == 0) {
		if (has_key)
			table_cache_save(&published->cache, &key, &table);
		publish_table(published, &table, ret);
		unwind_table_deinit(&table);
	}
	unwind_bytes_deinit(&bytes);
}

/* What is known of an image; UNKNOWN: its stacks go to live-unwinder. */
static struct published_table describe(struct published *published, uint64_t image)
{
	struct published_table described = { .kind = HEAP_MAPPING_UNKNOWN };
	struct elf_image file;
	int fd;

	if (image == IMAGE_VDSO || image == IMAGE_KERNEL)
		return described;
	if (images_is_memory(published->images, image)) {
		described.kind = HEAP_MAPPING_ANONYMOUS;
		return described;
	}
	fd = images_descriptor(published->images, image);
	fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || elf_image_open_descriptor(fd, 0, &file) != ELF_IMAGE_OK)
		return described;
	make_table(published, &file, &described);
	elf_image_close(&file);
	return described;
}

static struct published_table find_table(struct published *published, uint64_t image)
{
	uint64_t *known = pair_map_find(&published->by_image, image, 0);
	struct published_table described;

	if (known)
		return published->tables[*known];
	described = describe(published, image);
	if (GROWING_LIST_MAKE_ROOM(published->tables, published->n_tables) == 0 &&
	    pair_map_add(&published->by_image, image, 0, published->n_tables) == 0)
		published->tables[published->n_tables++] = described;
	return described;
}

/* The image server opens files beside us. 0 or -errno of the output. */
static int wait_for_files(struct published *published, const struct mapping_table *mappings)
{
	uint64_t until = clock_now(CLOCK_MONOTONIC) + PUBLISHED_OPEN_MS * NANOSECONDS_A_MILLISECOND;

	MAPPING_TABLE_EACH(mapping, mappings)
	{
		struct pollfd answer = { published->images->server_fd, POLLIN, 0 };
		int r;

		while (images_descriptor(published->images, mapping->image) == -EAGAIN &&
		       clock_now(CLOCK_MONOTONIC) < until) {
			poll(&answer, 1, 10);
			r = images_take_states(published->images);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int published_update(struct published *published, uint64_t offset,
		     const struct mapping_table *mappings, uint32_t answers)
{
	struct heap_mappings *list = list_at(published, offset);
	uint32_t version = list->version;
	size_t n = 0;
	int r = wait_for_files(published, mappings);

	if (r < 0)
		return r;
	MAPPING_TABLE_EACH(mapping, mappings) /* while the old list can still be read */
	find_table(published, mapping->image);
	__atomic_store_n(&list->version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	MAPPING_TABLE_EACH(mapping, mappings)
	{
		struct published_table table = find_table(published, mapping->image);

		if (n == HEAP_MAPPINGS_MAX) {
			++*counters_get(&published->stage->counters, "refused",
					"published-mappings");
			break;
		}
		list->list[n++] = (struct heap_mapping){
			.start = mapping->start,
			.end = mapping->end,
			.offset = mapping->offset,
			.table = table.offset,
			.table_size = table.size,
			.kind = table.kind,
		};
	}
	list->n = n;
	list->answers = answers;
	__atomic_store_n(&list->version, version + 2, __ATOMIC_RELEASE);
	return 0;
}
