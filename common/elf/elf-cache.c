/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/descriptor-limit.h"
#include "common/elf/elf-cache.h"
#include "common/stream/file-id.h"

enum { PAGE = 4096 };

/* Lives as long as its image, as do the segments in `elf`, open or not. */
struct cached_file {
	struct elf_image elf; /* first: elf_cache_reopen() casts it back */
	struct elf_cache *files;
	struct image *image;
	enum { NEVER_OPEN, OPEN, CLOSED, FAILED } state;
	bool is_other_data;
	uint64_t weight;
	uint32_t n_asked, patience; /* requests since the last failure, and until a retry */
	struct lru_link used;	    /* linked while open */
};

static void close_file(struct cached_file *file)
{
	if (file->state != OPEN)
		return;
	if (file->files->before_close)
		file->files->before_close(file->image, file->files->arg);
	lru_remove(&file->files->open, &file->used);
	file->files->weight -= file->weight;
	file->weight = 0;
	elf_image_suspend(&file->elf);
	file->state = CLOSED;
}

static void forget_file(struct image *image, void *arg)
{
	struct cached_file *file = image->data;

	if (!file)
		return;
	close_file(file);
	elf_image_close(&file->elf);
	free(file);
	image->data = NULL;
}

int elf_cache_init(struct elf_cache *files, struct stage *stage, struct image_table *table,
		   const struct wire_hello *hello)
{
	size_t n_fds = descriptor_limit_raise();

	*files = (struct elf_cache){
		.stage = stage,
		.table = table,
		.n_open_max = ELF_CACHE_OPEN_MAX,
	};
	if (n_fds < ELF_CACHE_OPEN_MAX + ELF_CACHE_SPARE_FDS)
		files->n_open_max = n_fds > ELF_CACHE_OPEN_MIN + ELF_CACHE_SPARE_FDS
					    ? n_fds - ELF_CACHE_SPARE_FDS
					    : ELF_CACHE_OPEN_MIN;
	table->forget = forget_file;
	return image_client_init(&files->client, hello);
}

void elf_cache_deinit(struct elf_cache *files)
{
	image_client_deinit(&files->client);
	free(files->denied_path);
	files->denied_path = NULL;
}

/*
 * OpenTelemetry hashes all mapped bytes (process/process.go, CalculateMappingFileID), and the
 * kernel maps whole pages, zero-filled after the vDSO (arch/x86/entry/vdso/vdso2c.h).
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

/* `fd` is the image's file; -1: its bytes are in the stream. */
static bool find_file_id(struct elf_cache *files, const struct image *image, int fd,
			 struct file_id *ret)
{
	if (fd < 0 && image->bytes)
		return find_vdso_id(image, ret);
	if (fd >= 0 && file_id_of_file(fd, ret) == FILE_ID_OK)
		return true;
	++*counters_get(&files->stage->counters, "images", "no-file-id");
	return false;
}

/* Adds the file id to the record, and emits it unless it holds nothing new. */
static void emit(struct elf_cache *files, struct image *image, int fd, struct wire_image_id *record)
{
	struct file_id id;

	if (find_file_id(files, image, fd, &id))
		file_id_text(&id, record->file_id);
	else if (image->has_id && !record->segments.n)
		return;
	image_table_set_id(files->table, record);
	/* A failed output is noticed at the next record that matters. */
	stage_put(files->stage, WIRE_RECORD_image_id, record);
}

static void emit_elf(struct elf_cache *files, struct image *image, const struct elf_image *elf)
{
	uint64_t words[WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS];
	struct wire_image_id record;

	if (image->has_id && image->has_file_id && image->segments)
		return;
	elf_image_id(elf, image->number, &record);
	record.segments = elf_image_code(elf, words);
	record.go_build_id = elf_image_go_build_id(elf);
	emit(files, image, elf->fd, &record);
}

/* Files that libelf refuses have a file id, too; they are few, so they are opened once more. */
static void emit_other(struct elf_cache *files, struct image *image)
{
	struct wire_image_id record = { .image = image->number };
	_cleanup_fd_ int fd = -1;

	if (image->has_id || image->kind != WIRE_image_kind_FILE)
		return;
	fd = elf_image_open_file(image, &files->client);
	if (fd >= 0)
		emit(files, image, fd, &record);
}

bool elf_cache_has_other_data(const struct image *image)
{
	const struct cached_file *file = image->data;

	return file && file->is_other_data;
}

bool elf_cache_is_undecided(const struct elf_cache *files, const struct image *image)
{
	return files->client.has_server && image->kind == WIRE_image_kind_FILE &&
	       (!image->state.status || files->client.is_late) && !elf_cache_has_other_data(image);
}

/* Closes the least recently used file if too many are open. */
static void keep_open(struct cached_file *file)
{
	file->state = OPEN;
	lru_add(&file->files->open, &file->used, file);
	if (file->files->open.n > file->files->n_open_max)
		close_file(lru_oldest(&file->files->open));
}

static void note_denied(struct elf_cache *files, const struct image *image)
{
	if (!files->n_denied++)
		files->denied_path = strdup(image->path);
	++*counters_get(&files->stage->counters, "images", "denied");
}

static bool open_file(struct cached_file *file)
{
	struct elf_cache *files = file->files;
	struct image *image = file->image;
	bool is_first = file->state == NEVER_OPEN;
	int outcome;

	files->client.was_denied = false;
	outcome = file->state == CLOSED ? elf_image_resume(image, &files->client, &file->elf)
					: elf_image_open(image, &files->client, &file->elf);

	if (outcome == ELF_IMAGE_OK) {
		keep_open(file);
		if (is_first && file->elf.n_hidden)
			++*counters_get(&files->stage->counters, "images", "too-large-sections");
		emit_elf(files, image, &file->elf);
		return true;
	}
	file->is_other_data = outcome == ELF_IMAGE_E_NOT_ELF;
	if (elf_cache_is_undecided(files, image))
		return false;
	file->patience = file->patience ? file->patience * 2 : ELF_CACHE_PATIENCE;
	file->n_asked = 0;
	if (file->state != CLOSED)
		file->state = FAILED;
	if (is_first)
		++*counters_get(&files->stage->counters, "images",
				outcome == ELF_IMAGE_E_UNAVAILABLE ? "unavailable" : "not-elf");
	if (is_first && files->client.was_denied)
		note_denied(files, image);
	if (is_first && file->is_other_data)
		emit_other(files, image);
	return false;
}

static struct cached_file *find_file(struct elf_cache *files, struct image *image)
{
	struct cached_file *file = image->data;

	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->files = files;
	file->image = image;
	file->elf.fd = -1;
	return image->data = file;
}

/* Refuses `patience` requests after a failure, twice as many after each further one. */
static bool is_to_be_tried(struct cached_file *file)
{
	if (!file->patience)
		return true;
	return ++file->n_asked >= file->patience && file->patience < UINT32_MAX / 2;
}

struct elf_image *elf_cache_get(struct elf_cache *files, struct image *image)
{
	struct cached_file *file;

	if (image->kind != WIRE_image_kind_FILE && image->kind != WIRE_image_kind_VDSO)
		return NULL;
	file = find_file(files, image);
	if (!file)
		return NULL;
	if (file->state == OPEN) {
		lru_use(&files->open, &file->used);
		return &file->elf;
	}
	return is_to_be_tried(file) && open_file(file) ? &file->elf : NULL;
}

void elf_cache_weigh(struct elf_cache *files, struct image *image, uint64_t weight)
{
	struct cached_file *file = image->data;

	files->weight += weight - file->weight;
	file->weight = weight;
	while (files->weight_max && files->weight > files->weight_max &&
	       lru_oldest(&files->open) != file)
		close_file(lru_oldest(&files->open));
}

bool elf_cache_reopen(struct elf_image *elf)
{
	struct cached_file *file = (struct cached_file *)elf;

	return elf_cache_get(file->files, file->image) != NULL;
}

uint64_t elf_cache_not_before(struct elf_cache *files, struct image *image)
{
	const struct elf_image *elf = elf_cache_get(files, image);
	uint64_t modified = elf ? elf->modified - files->unix_time_ahead : 0;

	if (!elf || !elf->modified || !files->unix_time_ahead || image->mapped_at >= modified)
		return 0;
	return modified + ELF_CACHE_TICK_NS;
}
