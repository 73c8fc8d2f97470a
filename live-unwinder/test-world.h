/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: hand-made processes, images and tables of a stream. */
#pragma once

#include "common/elf/test-elf-made.h"
#include "common/stage/test-stream.h"
#include "common/stream/identity.h"
#include "live-unwinder/table-store.h"

struct world {
	struct test_stream stream;
	struct identity identity;
	struct elf_cache files;
	struct table_cache cache; /* disabled unless a test opens it */
	struct table_store tables;
	uint32_t n_mappings;
};

static inline void world_init(struct world *world, const struct wire_hello *hello,
			      enum table_patience patience)
{
	memset(world, 0, sizeof(*world));
	test_stream_init(&world->stream);
	assert_int_equal(
		elf_cache_init(&world->files, &world->stream.stage, &world->identity.images, hello),
		0);
	world->cache.dir_fd = -1;
	table_store_init(&world->tables, &world->files, &world->cache, patience);
}

static inline void world_deinit(struct world *world)
{
	table_store_deinit(&world->tables);
	table_cache_close(&world->cache);
	identity_deinit(&world->identity);
	elf_cache_deinit(&world->files);
	counters_deinit(&world->stream.stage.run_counters);
	test_stream_deinit(&world->stream);
}

static inline struct process *add_process(struct world *world, uint64_t number)
{
	const struct wire_process record = {
		.process = number,
		.pid = number,
		.origin = WIRE_origin_SCANNED,
		.name = wire_string("made", 4),
	};

	assert_int_equal(process_table_add(&world->identity.processes, &record), 0);
	return process_table_find(&world->identity.processes, number);
}

/* Returns the mapping's number. */
static inline uint32_t add_mapping(struct world *world, struct process *process, uint64_t image,
				   uint64_t start, uint64_t length, uint64_t offset)
{
	const struct wire_mapping record = {
		.mapping = ++world->n_mappings,
		.process = process->number,
		.start = start,
		.length = length,
		.offset = offset,
		.image = image,
	};

	assert_int_equal(process_table_map(&world->identity.processes, &record), 0);
	return record.mapping;
}

static inline struct image *add_image(struct world *world, uint64_t number,
				      enum wire_image_kind kind, const char *path)
{
	const struct wire_image record = {
		.image = number,
		.kind = kind,
		.path = wire_string(path, strlen(path)),
	};

	assert_int_equal(image_table_add(&world->identity.images, &record), 0);
	return image_table_find(&world->identity.images, number);
}

/* Adds an image whose bytes are in the stream. */
static inline struct image *add_bytes(struct world *world, uint64_t number, const void *bytes,
				      size_t size)
{
	struct image *image = add_image(world, number, WIRE_image_kind_VDSO, "[made]");
	const struct wire_image_data record = { number, { bytes, size } };

	assert_int_equal(image_table_set_data(&world->identity.images, &record), 0);
	return image;
}
