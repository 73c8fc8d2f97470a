/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The images of a stream, known from its records alone. */
#pragma once

#include "common/base/hash-table.h"
#include "common/stream/file-id.h"
#include "common/wire/wire.h"

enum {
	IMAGE_TABLE_MAX = 1 << 18, /* more are refused */
};

/* Code of an ELF file. */
struct image_segment {
	uint64_t offset, address, size; /* in the file; as linked; in the file */
};

struct image {
	UT_hash_handle hh;
	UT_hash_handle hh_file_id, hh_short_id;
	uint64_t number;
	enum wire_image_kind kind;
	uint32_t device_major, device_minor;
	uint64_t inode;
	char *path;
	uint64_t mapped_at;	       /* first; 0: not mapped yet */
	struct wire_image_state state; /* status 0: no image_state record yet */
	void *bytes;		       /* of an image without a file */
	size_t n_bytes;
	unsigned char build_id[WIRE_BUILD_ID_MAX];
	size_t build_id_size;
	bool has_id; /* an image_id record came, even if its build-id was empty */
	bool has_file_id;
	struct file_id file_id;
	uint64_t short_id;		/* of file_id */
	struct image_segment *segments; /* NULL: not known */
	size_t n_segments;
	char *go_build_id; /* NULL: none */
	void *data;	   /* owned by the stage; freed by the table's `forget` */
};

struct image_table {
	struct image *by_number, *by_file_id, *by_short_id;
	uint64_t n_refused;
	uint64_t n_same_file_id;  /* images with the file id of an earlier one: copies */
	uint64_t n_same_short_id; /* images that share only the short id */
	void (*forget)(struct image *image, void *arg); /* before it is freed; may be NULL */
	void *arg;
};

void image_table_deinit(struct image_table *table);

/* Each applies the record of that name. 0 or -ENOMEM; invalid records are counted. */
int image_table_add(struct image_table *table, const struct wire_image *record);
int image_table_set_data(struct image_table *table, const struct wire_image_data *record);
void image_table_set_state(struct image_table *table, const struct wire_image_state *record);
void image_table_set_id(struct image_table *table, const struct wire_image_id *record);

/* Rebuilds the record that image_table_set_id() was given, without segments; it points into the
 * image. */
void image_table_get_id(const struct image *image, struct wire_image_id *ret);

/* Rebuilds the record that image_table_add() was given, without generation; borrows the path. */
struct wire_image image_record(const struct image *image);

/* Removes an image; callers must have dropped their pointers to it. */
void image_table_exit(struct image_table *table, const struct wire_image_exit *record);

/* NULL: no such number. */
struct image *image_table_find(const struct image_table *table, uint64_t number);

/*
 * Maps a file id, or its short form, back to the first image that has it, or NULL. Copies of a file
 * have the same id; only short ids can collide.
 */
struct image *image_table_find_file_id(const struct image_table *table, const struct file_id *id);
struct image *image_table_find_short_id(const struct image_table *table, uint64_t short_id);

/* The last component of the path. */
const char *image_name(const struct image *image);
