/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The images of a stream, from their records alone. */
#pragma once

#include "common/stream/file-id.h"
#include "common/base/hash-table.h"
#include "common/wire/wire.h"

enum {
	IMAGE_TABLE_MAX = 1 << 18, /* more are refused */
};

struct image {
	UT_hash_handle hh;
	UT_hash_handle hh_file_id, hh_short_id;
	uint64_t number;
	enum wire_image_kind kind;
	uint32_t device_major, device_minor;
	uint64_t inode;
	char *path;
	uint64_t mapped_at;	       /* first; 0: never, as far as is known */
	struct wire_image_state state; /* status 0: the image server has not said anything yet */
	void *bytes;		       /* of an image that is no file */
	size_t n_bytes;
	unsigned char build_id[WIRE_BUILD_ID_MAX];
	size_t build_id_size;
	bool has_id; /* somebody has told the build-id, be it empty */
	bool has_file_id;
	struct file_id file_id;
	uint64_t short_id; /* of the file id */
	void *data;	   /* the stage's own; freed by the table's `forget` */
};

struct image_table {
	struct image *by_number, *by_file_id, *by_short_id;
	uint64_t n_refused;
	uint64_t n_same_file_id;  /* copies: images with the file id of an earlier one */
	uint64_t n_same_short_id; /* and with its short form alone */
	void (*forget)(struct image *image, void *arg); /* before one goes; may be NULL */
	void *arg;
};

void image_table_deinit(struct image_table *table);

/* Each takes the record of that name in. 0 or -ENOMEM; what is impossible is counted. */
int image_table_add(struct image_table *table, const struct wire_image *record);
int image_table_set_data(struct image_table *table, const struct wire_image_data *record);
void image_table_set_state(struct image_table *table, const struct wire_image_state *record);
void image_table_set_id(struct image_table *table, const struct wire_image_id *record);

/* Fills in the record that image_table_set_id() has taken; it points into the image. */
void image_table_get_id(const struct image *image, struct wire_image_id *ret);

/* The record that image_table_add() has taken, but the generation; its path is the image's. */
struct wire_image image_record(const struct image *image);

/* An image is no more; whoever has pointers to it must have let them go. */
void image_table_exit(struct image_table *table, const struct wire_image_exit *record);

/* NULL: there is none of that number. */
struct image *image_table_find(const struct image_table *table, uint64_t number);

/*
 * The way back from a file id, or from its short form, to the image that had it first; NULL: there
 * is none. Copies of a file have the same id; only the short form can be the same by chance.
 */
struct image *image_table_find_file_id(const struct image_table *table, const struct file_id *id);
struct image *image_table_find_short_id(const struct image_table *table, uint64_t short_id);

/* The last part of its path. */
const char *image_name(const struct image *image);
