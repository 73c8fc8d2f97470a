/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/image-files.h"

struct image_file {
	struct elf_image elf;
	bool is_open;
	bool is_other_data;
};

static void forget_file(struct image *image, void *arg)
{
	struct image_file *file = image->data;

	if (file && file->is_open)
		elf_image_close(&file->elf);
	free(file);
}

int image_files_init(struct image_files *files, struct stage *stage, struct image_table *table,
		     const struct wire_hello *hello)
{
	*files = (struct image_files){ .stage = stage, .table = table };
	table->forget = forget_file;
	return image_client_init(&files->client, hello);
}

void image_files_deinit(struct image_files *files)
{
	image_client_deinit(&files->client);
}

static void tell_id(struct image_files *files, struct image *image, const struct elf_image *elf)
{
	struct wire_image_id record;

	if (image->has_id)
		return;
	elf_image_id(elf, image->number, &record);
	image_table_set_id(files->table, &record);
	/* A full output shows itself with the next record that matters. */
	stage_put(files->stage, WIRE_RECORD_image_id, &record);
}

bool image_files_has_other_data(const struct image *image)
{
	const struct image_file *file = image->data;

	return file && file->is_other_data;
}

bool image_files_is_undecided(const struct image_files *files, const struct image *image)
{
	return files->client.has_server && image->kind == WIRE_image_kind_FILE &&
	       !image->state.status;
}

struct elf_image *image_files_get(struct image_files *files, struct image *image)
{
	struct image_file *file = image->data;
	int outcome;

	if (file)
		return file->is_open ? &file->elf : NULL;
	if (image->kind == WIRE_image_kind_ANONYMOUS || image->kind == WIRE_image_kind_KERNEL)
		return NULL;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	image->data = file;
	outcome = elf_image_open(image, &files->client, &file->elf);
	file->is_open = outcome == ELF_IMAGE_OK;
	file->is_other_data = outcome == ELF_IMAGE_E_NOT_ELF;
	if (!file->is_open && image_files_is_undecided(files, image)) {
		free(file);
		image->data = NULL;
		return NULL;
	}
	if (file->is_open)
		tell_id(files, image, &file->elf);
	else
		++*counters_get(&files->stage->counters, "images",
				outcome == ELF_IMAGE_E_UNAVAILABLE ? "unavailable" : "not-elf");
	return file->is_open ? &file->elf : NULL;
}
