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
#include "preload-source/reader/shared-tables.h"

enum { ALIGNMENT = 64 };

int shared_tables_init(struct shared_tables *shared, struct stage *stage, struct images *images)
{
	*shared = (struct shared_tables){
		.stage = stage,
		.images = images,
		.memory.fd = -1,
		.cache.dir_fd = -1,
	};
	pair_map_init(&shared->by_image, SHARED_TABLES_IMAGES_MAX);
	table_cache_open(&shared->cache);
	return shared_memory_make(&shared->memory, "stackpipe-tables", HEAP_TABLES_SIZE,
				  SHARED_WITH_READERS);
}

void shared_tables_deinit(struct shared_tables *shared)
{
	pair_map_deinit(&shared->by_image);
	table_cache_close(&shared->cache);
	shared_memory_deinit(&shared->memory);
	free(shared->tables);
	free(shared->free_lists);
}

/* Allocates bytes of the memory. 0; -ENOSPC: no room. */
static int allocate(struct shared_tables *shared, uint64_t size, uint64_t *ret)
{
	uint64_t at = (shared->used + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);

	if (size > shared->memory.size - at)
		return -ENOSPC;
	shared->used = at + size;
	*ret = at;
	return 0;
}

static struct heap_mappings *list_at(const struct shared_tables *shared, uint64_t offset)
{
	return (void *)((char *)shared->memory.bytes + offset);
}

int shared_tables_add_list(struct shared_tables *shared, uint64_t *ret_offset)
{
	int r = 0;

	if (shared->n_free_lists)
		*ret_offset = shared->free_lists[--shared->n_free_lists];
	else
		r = allocate(shared, sizeof(struct heap_mappings), ret_offset);
	if (r == 0)
		memset(list_at(shared, *ret_offset), 0, sizeof(struct heap_mappings));
	return r;
}

void shared_tables_remove_list(struct shared_tables *shared, uint64_t offset)
{
	/* Without memory for the entry, the list's place is leaked. */
	if (GROWING_LIST_MAKE_ROOM(shared->free_lists, shared->n_free_lists) == 0)
		shared->free_lists[shared->n_free_lists++] = offset;
}

/* Copies a table to the shared memory. */
static void publish_table(struct shared_tables *shared, const struct unwind_table *table,
			  struct shared_table *ret)
{
	if (allocate(shared, table->size, &ret->offset) < 0) {
		++*counters_get(&shared->stage->counters, "refused", "published-tables");
		return;
	}
	memcpy((char *)shared->memory.bytes + ret->offset, table->header, table->size);
	ret->size = table->size;
	ret->kind = HEAP_MAPPING_TABLE;
}

/* Loads a table from the cache, or compiles it while the program waits. */
static void make_table(struct shared_tables *shared, const struct elf_image *file,
		       struct shared_table *ret)
{
	struct table_cache_key key;
	struct kept_file cached;
	struct unwind_table table;
	struct unwind_bytes bytes;
	bool has_key = table_cache_key(file, &key);

	if (has_key && table_cache_load(&shared->cache, &key, &table, &cached) == 0) {
		publish_table(shared, &table, ret);
		kept_file_unmap(&cached);
		return;
	}
	if (unwind_bytes_read(file, &bytes) < 0)
		return;
	if (!bytes.source.n_sections) {
		ret->kind = HEAP_MAPPING_BARE;
	} else if (unwind_table_compile(&bytes.source, &table) == 0) {
		if (has_key)
			table_cache_save(&shared->cache, &key, &table);
		publish_table(shared, &table, ret);
		unwind_table_deinit(&table);
	}
	unwind_bytes_deinit(&bytes);
}

/* Describes an image; UNKNOWN: live-unwinder unwinds its stacks. */
static struct shared_table describe(struct shared_tables *shared, uint64_t image)
{
	struct shared_table described = { .kind = HEAP_MAPPING_UNKNOWN };
	struct elf_image file;
	int fd;

	if (image == IMAGE_VDSO || image == IMAGE_KERNEL)
		return described;
	if (images_is_memory(shared->images, image)) {
		described.kind = HEAP_MAPPING_ANONYMOUS;
		return described;
	}
	fd = images_descriptor(shared->images, image);
	fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || elf_image_open_descriptor(fd, 0, &file) != ELF_IMAGE_OK)
		return described;
	make_table(shared, &file, &described);
	elf_image_close(&file);
	return described;
}

static struct shared_table find_table(struct shared_tables *shared, uint64_t image)
{
	uint64_t *known = pair_map_find(&shared->by_image, image, 0);
	struct shared_table described;

	if (known)
		return shared->tables[*known];
	described = describe(shared, image);
	if (GROWING_LIST_MAKE_ROOM(shared->tables, shared->n_tables) == 0 &&
	    pair_map_add(&shared->by_image, image, 0, shared->n_tables) == 0)
		shared->tables[shared->n_tables++] = described;
	return described;
}

/* Waits for the image server, which opens files concurrently. 0 or -errno of the output. */
static int wait_for_files(struct shared_tables *shared, const struct mapping_table *mappings)
{
	uint64_t until =
		clock_now(CLOCK_MONOTONIC) + SHARED_TABLES_OPEN_MS * NANOSECONDS_A_MILLISECOND;

	MAPPING_TABLE_EACH(mapping, mappings)
	{
		struct pollfd answer = { shared->images->server_fd, POLLIN, 0 };
		int r;

		while (images_descriptor(shared->images, mapping->image) == -EAGAIN &&
		       clock_now(CLOCK_MONOTONIC) < until) {
			poll(&answer, 1, 10);
			r = images_take_states(shared->images);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int shared_tables_update(struct shared_tables *shared, uint64_t offset,
			 const struct mapping_table *mappings, uint32_t answers)
{
	struct heap_mappings *list = list_at(shared, offset);
	uint32_t version = list->version;
	size_t n = 0;
	int r = wait_for_files(shared, mappings);

	if (r < 0)
		return r;
	MAPPING_TABLE_EACH(mapping, mappings) /* makes tables while the old list is still valid */
	find_table(shared, mapping->image);
	__atomic_store_n(&list->version, version + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	MAPPING_TABLE_EACH(mapping, mappings)
	{
		struct shared_table table = find_table(shared, mapping->image);

		if (n == HEAP_MAPPINGS_MAX) {
			++*counters_get(&shared->stage->counters, "refused", "published-mappings");
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
