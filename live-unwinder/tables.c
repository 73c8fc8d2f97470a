/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/unwind-source.h"
#include "live-unwinder/engine.h"
#include "live-unwinder/tables.h"

void tables_init(struct tables *tables, struct image_files *files)
{
	*tables = (struct tables){ .files = files };
	pair_map_init(&tables->by_image, IMAGE_TABLE_MAX);
	tables->n_compiled = counters_get(&files->stage->counters, "tables", "compiled");
}

static void free_entry(uint64_t image, uint64_t zero, uint64_t value, void *arg)
{
	struct image_table_entry *entry = (struct image_table_entry *)value;

	unwind_table_deinit(&entry->table);
	free(entry);
}

void tables_deinit(struct tables *tables)
{
	pair_map_each(&tables->by_image, free_entry, NULL);
	pair_map_deinit(&tables->by_image);
}

static enum table_state compile(struct tables *tables, const struct elf_image *file,
				struct unwind_table *ret)
{
	struct unwind_bytes bytes;
	int r = unwind_bytes_read(file, &bytes);

	if (r < 0)
		return TABLE_UNUSABLE;
	r = unwind_table_compile(&bytes.source, ret);
	unwind_bytes_deinit(&bytes);
	++*tables->n_compiled;
	return r < 0 ? TABLE_UNUSABLE : TABLE_READY;
}

static void make(struct tables *tables, uint64_t number, struct image_table_entry *entry)
{
	struct image *image = image_table_find(tables->files->table, number);
	const struct elf_image *file = image ? image_files_get(tables->files, image) : NULL;

	entry->image = image;
	if (file) {
		entry->state = compile(tables, file, &entry->table);
		return;
	}
	entry->state = image && image_files_is_undecided(image) ? TABLE_PENDING : TABLE_NO_FILE;
	entry->end = image ? unwinding_end_in(image, tables->files) : WIRE_stack_end_NO_MAPPING;
}

const struct image_table_entry *tables_get(struct tables *tables, uint64_t image)
{
	uint64_t *known = pair_map_find(&tables->by_image, image, 0);
	struct image_table_entry *entry = known ? (struct image_table_entry *)*known : NULL;

	if (entry && entry->state != TABLE_PENDING)
		return entry;
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return NULL;
		if (pair_map_add(&tables->by_image, image, 0, (uintptr_t)entry) < 0) {
			free(entry);
			return NULL;
		}
		entry->id = ++tables->n;
	}
	make(tables, image, entry);
	return entry;
}
