/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file-id.h"
#include "common/image-files.h"

enum { PAGE = 4096 };

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

/*
 * OpenTelemetry hashes all that is mapped (process/process.go, CalculateMappingFileID), and the
 * kernel maps whole pages, with zeros behind the vDSO (arch/x86/entry/vdso/vdso2c.h).
 */
static bool find_vdso_id(const struct image *image, struct file_id *ret)
{
	size_t size = (image->n_bytes + PAGE - 1) & -(size_t)PAGE;
	_cleanup_free_ void *pages = calloc(1, size ? size : 1);

	if (!pages)
		return false;
	memcpy(pages, image->bytes, image->n_bytes);
	file_id_of_bytes(pages, size, ret);
	return true;
}

/* `fd`: its file, -1: its bytes are in the stream. */
static bool find_file_id(struct image_files *files, const struct image *image, int fd,
			 struct file_id *ret)
{
	if (fd < 0 && image->bytes)
		return find_vdso_id(image, ret);
	if (fd >= 0 && file_id_of_file(fd, ret) == FILE_ID_OK)
		return true;
	++*counters_get(&files->stage->counters, "images", "no-file-id");
	return false;
}

/* Adds the file id to what is in the record, and passes it on if it tells anything new. */
static void tell(struct image_files *files, struct image *image, int fd,
		 struct wire_image_id *record)
{
	struct file_id id;

	if (find_file_id(files, image, fd, &id))
		file_id_text(&id, record->file_id);
	else if (image->has_id)
		return;
	image_table_set_id(files->table, record);
	/* A full output shows itself with the next record that matters. */
	stage_put(files->stage, WIRE_RECORD_image_id, record);
}

static void tell_elf(struct image_files *files, struct image *image, const struct elf_image *elf)
{
	struct wire_image_id record;

	if (image->has_id && image->has_file_id)
		return;
	elf_image_id(elf, image->number, &record);
	tell(files, image, elf->fd, &record);
}

/* What libelf does not read has a file id all the same; such files are few, so once more. */
static void tell_other(struct image_files *files, struct image *image)
{
	struct wire_image_id record = { .image = image->number };
	_cleanup_fd_ int fd = -1;

	if (image->has_id || image->kind != WIRE_image_kind_FILE)
		return;
	fd = elf_image_open_file(image, &files->client);
	if (fd >= 0)
		tell(files, image, fd, &record);
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
		tell_elf(files, image, &file->elf);
	else
		++*counters_get(&files->stage->counters, "images",
				outcome == ELF_IMAGE_E_UNAVAILABLE ? "unavailable" : "not-elf");
	if (file->is_other_data)
		tell_other(files, image);
	return file->is_open ? &file->elf : NULL;
}
