/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/stream/image-table.h"

static void forget(struct image_table *table, struct image *image)
{
	if (table->forget)
		table->forget(image, table->arg);
	HASH_DEL(table->by_number, image);
	free(image->path);
	free(image->bytes);
	free(image->segments);
	free(image->go_build_id);
	free(image);
}

void image_table_deinit(struct image_table *table)
{
	struct image *image, *next;

	HASH_CLEAR(hh_file_id, table->by_file_id);
	HASH_CLEAR(hh_short_id, table->by_short_id);
	HASH_ITER(hh, table->by_number, image, next)
	forget(table, image);
}

struct image *image_table_find(const struct image_table *table, uint64_t number)
{
	struct image *image;

	HASH_FIND(hh, table->by_number, &number, sizeof(number), image);
	return image;
}

struct wire_image image_record(const struct image *image)
{
	return (struct wire_image){
		.image = image->number,
		.kind = image->kind,
		.device_major = image->device_major,
		.device_minor = image->device_minor,
		.inode = image->inode,
		.path = { image->path, strlen(image->path) },
	};
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
	if (HASH_HAS(hh, image))
		return 0;
	free(image->path);
	free(image);
	return -ENOMEM;
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

struct image *image_table_find_file_id(const struct image_table *table, const struct file_id *id)
{
	struct image *image;

	HASH_FIND(hh_file_id, table->by_file_id, id, sizeof(*id), image);
	return image;
}

struct image *image_table_find_short_id(const struct image_table *table, uint64_t short_id)
{
	struct image *image;

	HASH_FIND(hh_short_id, table->by_short_id, &short_id, sizeof(short_id), image);
	return image;
}

/* Out of memory: the image is merely not found by its file id. */
static void add_file_id(struct image_table *table, struct image *image, const struct file_id *id)
{
	image->has_file_id = true;
	image->file_id = *id;
	image->short_id = file_id_short(id);
	if (image_table_find_file_id(table, id)) {
		table->n_same_file_id++;
		return;
	}
	HASH_ADD(hh_file_id, table->by_file_id, file_id, sizeof(image->file_id), image);
	if (image_table_find_short_id(table, image->short_id)) {
		table->n_same_short_id++;
		return;
	}
	HASH_ADD(hh_short_id, table->by_short_id, short_id, sizeof(image->short_id), image);
}

/* An image is one content, so the first id stays; a different one is refused. */
static void set_file_id(struct image_table *table, struct image *image, const char *text)
{
	struct file_id id;

	if (!*text)
		return;
	if (!file_id_parse(text, &id))
		table->n_refused++;
	else if (!image->has_file_id)
		add_file_id(table, image, &id);
	else if (memcmp(&id, &image->file_id, sizeof(id)))
		table->n_refused++;
}

static bool is_segment(const struct image_segment *segment)
{
	return segment->size && segment->offset + segment->size > segment->offset &&
	       segment->address + segment->size > segment->address;
}

/* The first ones stay, as of the file id. Out of memory: they are not known. */
static void set_segments(struct image_table *table, struct image *image, struct wire_addrs words)
{
	size_t n = words.n / WIRE_SEGMENT_WORDS;

	if (!n || image->segments)
		return;
	image->segments = calloc(n, sizeof(*image->segments));
	for (size_t i = 0; i < n && image->segments; i++) {
		struct image_segment *segment = &image->segments[image->n_segments];

		memcpy(segment, words.data + i * WIRE_SEGMENT_WORDS, sizeof(*segment));
		if (is_segment(segment))
			image->n_segments++;
		else
			table->n_refused++;
	}
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
	set_file_id(table, image, record->file_id);
	set_segments(table, image, record->segments);
	if (record->go_build_id.size && !image->go_build_id)
		image->go_build_id = strdup(record->go_build_id.data);
}

void image_table_get_id(const struct image *image, struct wire_image_id *ret)
{
	*ret = (struct wire_image_id){
		.image = image->number,
		.build_id = { image->build_id, image->build_id_size },
	};
	if (image->has_file_id)
		file_id_text(&image->file_id, ret->file_id);
}

/* Another image with the same first `n_bytes` of the file id, or NULL. */
static struct image *find_copy(const struct image_table *table, const struct image *image,
			       size_t n_bytes)
{
	struct image *other, *next;

	HASH_ITER(hh, table->by_number, other, next)
	if (other != image && other->has_file_id &&
	    !memcmp(&other->file_id, &image->file_id, n_bytes))
		return other;
	return NULL;
}

/* A copy of the file, if there is one, takes the image's place in both indexes. */
static void remove_file_id(struct image_table *table, struct image *image)
{
	struct image *copy;

	if (!image->has_file_id)
		return;
	if (image_table_find_file_id(table, &image->file_id) == image) {
		HASH_DELETE(hh_file_id, table->by_file_id, image);
		copy = find_copy(table, image, FILE_ID_SIZE);
		if (copy)
			HASH_ADD(hh_file_id, table->by_file_id, file_id, FILE_ID_SIZE, copy);
	}
	if (image_table_find_short_id(table, image->short_id) == image) {
		HASH_DELETE(hh_short_id, table->by_short_id, image);
		copy = find_copy(table, image, sizeof(image->short_id));
		if (copy)
			HASH_ADD(hh_short_id, table->by_short_id, short_id, sizeof(copy->short_id),
				 copy);
	}
}

void image_table_exit(struct image_table *table, const struct wire_image_exit *record)
{
	struct image *image = image_table_find(table, record->image);

	if (!image)
		return;
	remove_file_id(table, image);
	forget(table, image);
}

const char *image_name(const struct image *image)
{
	const char *slash = strrchr(image->path, '/');

	return slash ? slash + 1 : image->path;
}
