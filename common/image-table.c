/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/image-table.h"

static void forget(struct image_table *table, struct image *image)
{
	if (table->forget)
		table->forget(image, table->arg);
	HASH_DEL(table->by_number, image);
	free(image->path);
	free(image->bytes);
	free(image);
}

void image_table_deinit(struct image_table *table)
{
	struct image *image, *next;

	HASH_ITER(hh, table->by_number, image, next)
	forget(table, image);
}

struct image *image_table_find(const struct image_table *table, uint64_t number)
{
	struct image *image;

	HASH_FIND(hh, table->by_number, &number, sizeof(number), image);
	return image;
}

int image_table_add(struct image_table *table, const struct wire_image *record)
{
	struct image *image;

	if (image_table_find(table, record->image) ||
	    HASH_COUNT(table->by_number) >= IMAGE_TABLE_MAX) {
		table->n_refused++;
		return 0;
	}
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->number = record->image;
	image->kind = record->kind;
	image->device_major = record->device_major;
	image->device_minor = record->device_minor;
	image->inode = record->inode;
	image->path = strdup(record->path.data);
	if (!image->path) {
		free(image);
		return -ENOMEM;
	}
	HASH_ADD(hh, table->by_number, number, sizeof(image->number), image);
	return 0;
}

int image_table_set_data(struct image_table *table, const struct wire_image_data *record)
{
	struct image *image = image_table_find(table, record->image);

	if (!image || image->bytes) {
		table->n_refused++;
		return 0;
	}
	image->bytes = malloc(record->data.size);
	if (!image->bytes)
		return -ENOMEM;
	memcpy(image->bytes, record->data.data, record->data.size);
	image->n_bytes = record->data.size;
	return 0;
}

void image_table_set_state(struct image_table *table, const struct wire_image_state *record)
{
	struct image *image = image_table_find(table, record->image);

	if (image)
		image->state = *record;
}

void image_table_set_id(struct image_table *table, const struct wire_image_id *record)
{
	struct image *image = image_table_find(table, record->image);

	if (!image || record->build_id.size > WIRE_BUILD_ID_MAX)
		return;
	image->has_id = true;
	image->build_id_size = record->build_id.size;
	if (record->build_id.size)
		memcpy(image->build_id, record->build_id.data, record->build_id.size);
}

const char *image_name(const struct image *image)
{
	const char *slash = strrchr(image->path, '/');

	return slash ? slash + 1 : image->path;
}
