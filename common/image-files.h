/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ELF files of images, opened when they are first needed; a failure is remembered. */
#pragma once

#include "common/elf-image.h"
#include "common/stage.h"

struct image_files {
	struct stage *stage;	   /* borrowed */
	struct image_table *table; /* borrowed; `data` of its images is ours */
	struct image_client client;
};

int image_files_init(struct image_files *files, struct stage *stage, struct image_table *table,
		     const struct wire_hello *hello);
void image_files_deinit(struct image_files *files);

/*
 * The file of an image; NULL: it cannot be had. The first time it is read, its build-id and file id
 * are told downstream, unless somebody has done so; the file id also where it is no ELF file.
 */
struct elf_image *image_files_get(struct image_files *files, struct image *image);

/* Whether the file was read and is no ELF file of this machine. */
bool image_files_has_other_data(const struct image *image);

/*
 * Whether a file that could not be had is worth another try: in a recorded stream what the image
 * server found comes a little later than the image itself.
 */
bool image_files_is_undecided(const struct image_files *files, const struct image *image);
