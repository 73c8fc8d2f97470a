/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of images: one number for one content of one file, from what the kernel reports of
 * a mapping (device, inode, its generation, path). Each new image goes downstream as a record, and
 * a file at once to the image server, while it can still be had.
 */
#pragma once

#include <stdint.h>

#include "common/stage.h"

enum {
	IMAGES_MAX = 1 << 18, /* known at one time; beyond that all are forgotten and get new
				 numbers when they are met again */
	IMAGE_KERNEL = 1,
	IMAGE_VDSO = 2,
	IMAGE_FIRST = 3,
};

struct images {
	struct stage *stage; /* borrowed */
	struct image_entry *by_file;
	uint64_t n_numbers;
	uint64_t n_forgotten;
	int server_fd; /* of the image server; -1: none */
	bool vdso_is_known;
};

/* What is known of a piece of mapped memory. */
struct image_source {
	uint32_t pid;
	uint64_t start, length;
	uint32_t major, minor;
	uint64_t inode, generation; /* generation 0: not known */
	const char *path;	    /* as the kernel gives it */
};

void images_init(struct images *images, struct stage *stage, int server_fd);
void images_deinit(struct images *images);

/* Memory without a file, and so an image of its own each time that it is mapped. */
bool images_is_anonymous(const struct image_source *source);

/* Tells of the kernel's image: 0 or -errno of the output. */
int images_add_kernel(struct images *images);

/*
 * The number of the image behind a mapping, new or known; `ret_flags` are a mapping's
 * (WIRE_mapping_flags_…). 0 or -errno of the output.
 */
int images_find(struct images *images, const struct image_source *source, uint64_t *ret_image,
		uint32_t *ret_flags);

/* Passes on what the image server has found since: 0 or -errno of the output. */
int images_take_states(struct images *images);
