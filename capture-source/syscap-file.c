/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "capture-source/replay-counters.h"
#include "capture-source/syscap-file.h"
#include "common/base/growing-list.h"
#include "common/file/gzip.h"

bool syscap_file_is(const char *data, size_t size)
{
	const struct syscap_file_header *header = (const void *)data;

	return size >= sizeof(*header) && header->magic == SYSCAP_MAGIC &&
	       header->flags & SYSCAP_LITTLE_ENDIAN_BIT;
}

/* Whether a text at an offset of a frame ends within the frame. */
static bool has_text(const struct syscap_frame *frame, size_t offset)
{
	return offset < frame->size &&
	       memchr((const char *)frame + offset, 0, frame->size - offset);
}

static bool is_whole_sample(const struct syscap_frame *frame)
{
	const struct syscap_sample_frame *sample = (const void *)frame;

	return frame->size >= sizeof(*sample) &&
	       sample->n_addresses <= (frame->size - sizeof(*sample)) / sizeof(*sample->addresses);
}

static bool is_whole_allocation(const struct syscap_frame *frame)
{
	const struct syscap_allocation_frame *allocation = (const void *)frame;

	return frame->size >= sizeof(*allocation) &&
	       allocation->n_addresses <=
		       (frame->size - sizeof(*allocation)) / sizeof(*allocation->addresses);
}

static bool is_whole_chunk(const struct syscap_frame *frame)
{
	const struct syscap_chunk_frame *chunk = (const void *)frame;

	return frame->size >= sizeof(*chunk) && chunk->size <= frame->size - sizeof(*chunk) &&
	       memchr(chunk->path, 0, sizeof(chunk->path));
}

enum use { USED, SKIPPED, REFUSED };

/* Decides whether a frame is used. */
static enum use judge(const struct syscap_frame *frame)
{
	bool is_whole;

	switch (frame->type & 0xff) {
	case SYSCAP_SAMPLE:
		is_whole = is_whole_sample(frame);
		break;
	case SYSCAP_ALLOCATION:
		is_whole = is_whole_allocation(frame);
		break;
	case SYSCAP_MAP:
		is_whole = has_text(frame, sizeof(struct syscap_map_frame));
		break;
	case SYSCAP_PROCESS:
		is_whole = has_text(frame, sizeof(*frame));
		break;
	case SYSCAP_FORK:
		is_whole = frame->size >= sizeof(struct syscap_fork_frame);
		break;
	case SYSCAP_EXIT:
		is_whole = true;
		break;
	case SYSCAP_CTRDEF:
	case SYSCAP_CTRSET:
		is_whole = replay_counters_is_whole(frame);
		break;
	case SYSCAP_MARK:
		is_whole = has_text(frame, sizeof(struct syscap_mark_frame)) &&
			   memchr(((struct syscap_mark_frame *)frame)->name, 0,
				  sizeof(((struct syscap_mark_frame *)frame)->name));
		break;
	case SYSCAP_METADATA:
		is_whole = has_text(frame, sizeof(struct syscap_metadata_frame)) &&
			   memchr(((struct syscap_metadata_frame *)frame)->id, 0,
				  sizeof(((struct syscap_metadata_frame *)frame)->id));
		break;
	case SYSCAP_LOG:
		is_whole = has_text(frame, sizeof(struct syscap_log_frame)) &&
			   memchr(((struct syscap_log_frame *)frame)->domain, 0,
				  sizeof(((struct syscap_log_frame *)frame)->domain));
		break;
	case SYSCAP_FILE_CHUNK:
		is_whole = is_whole_chunk(frame);
		break;
	default:
		return SKIPPED;
	}
	return is_whole ? USED : REFUSED;
}

/* Jitmap entries are not padded. The first name of an address counts. */
static int add_jitmap(struct syscap_file *file, const struct syscap_frame *frame)
{
	const struct syscap_jitmap_frame *jitmap = (const void *)frame;
	const char *at = (const char *)&jitmap->address, *end = (const char *)frame + frame->size;
	int r = 0;

	if (frame->size < sizeof(*jitmap)) {
		file->n_refused++;
		return 0;
	}
	for (uint32_t i = 0; i < jitmap->n_entries && r == 0; i++) {
		const char *name = at + sizeof(uint64_t);
		const char *name_end = name < end ? memchr(name, 0, end - name) : NULL;
		uint64_t address;

		if (!name_end) {
			file->n_refused++;
			break;
		}
		memcpy(&address, at, sizeof(address));
		if (!pair_map_find(&file->jitmap, address, 0))
			r = pair_map_add(&file->jitmap, address, 0, name - file->data);
		at = name_end + 1;
	}
	if (r == -ENOSPC) {
		file->n_refused++;
		r = 0;
	}
	return r;
}

static bool describes_others(const struct syscap_frame *frame)
{
	switch (frame->type & 0xff) {
	case SYSCAP_PROCESS:
	case SYSCAP_METADATA:
	case SYSCAP_FILE_CHUNK:
		return true;
	default:
		return false;
	}
}

static int add_item(const struct syscap_file *file, const struct syscap_frame *frame,
		    struct syscap_list *list)
{
	return GROWING_LIST_ADD(list->items, list->n,
				(struct syscap_item){
					.time = frame->time,
					.offset = (const char *)frame - file->data,
				});
}

static int add_frame(struct syscap_file *file, const struct syscap_frame *frame)
{
	int r;

	if ((frame->type & 0xff) == SYSCAP_JITMAP)
		return add_jitmap(file, frame);
	switch (judge(frame)) {
	case SKIPPED:
		file->n_skipped++;
		return 0;
	case REFUSED:
		file->n_refused++;
		return 0;
	default:
		break;
	}
	if (file->frames.n == SYSCAP_FRAMES_MAX) {
		file->n_refused++;
		return 0;
	}
	r = add_item(file, frame, &file->frames);
	if (r == 0 && describes_others(frame))
		r = add_item(file, frame, &file->descriptions);
	return r;
}

static int read_frames(struct syscap_file *file)
{
	size_t at = sizeof(struct syscap_file_header);
	struct map_pass pass = { 0 };
	int r = 0;

	while (r == 0 && file->size - at >= sizeof(struct syscap_frame)) {
		const struct syscap_frame *frame = (const void *)(file->data + at);

		if (frame->size < sizeof(*frame) || frame->size % 8 ||
		    frame->size > file->size - at)
			break;
		r = add_frame(file, frame);
		file->last_frame = at;
		at += frame->size;
		capture_file_come_to(file->file, &pass, at);
	}
	if (at != file->size)
		file->end = SYSCAP_FILE_TORN;
	return r;
}

/* Whether the last frame is the metadata that the header announces. */
static bool has_last_frame(const struct syscap_file *file)
{
	const struct syscap_metadata_frame *last = (const void *)(file->data + file->last_frame);

	return file->last_frame && (last->frame.type & 0xff) == SYSCAP_METADATA &&
	       judge(&last->frame) == USED &&
	       !strncmp(last->id, syscap_file_header(file)->last_id, sizeof(last->id));
}

/*
 * Older captures of stackpipe have no announcement in the header, and Sysprof may save the frames
 * in another order: their state is anywhere.
 */
static enum syscap_file_end find_end(const struct syscap_file *file)
{
	const struct syscap_file_header *header = syscap_file_header(file);
	const char *state = syscap_file_metadata(file, SYSCAP_STATE_ID);
	bool is_ours = *header->last_id || syscap_file_metadata(file, "stackpipe.version");

	if (header->last_index >= file->size || (*header->last_id && !has_last_frame(file)) ||
	    (is_ours && !state))
		return SYSCAP_FILE_CUT;
	return is_ours && strcmp(state, SYSCAP_STATE_COMPLETE) ? SYSCAP_FILE_STOPPED
							       : SYSCAP_FILE_WHOLE;
}

static int compare_items(const void *a, const void *b)
{
	const struct syscap_item *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void sort(struct syscap_list *list)
{
	for (size_t i = 1; i < list->n; i++)
		if (compare_items(&list->items[i - 1], &list->items[i]) > 0) {
			qsort(list->items, list->n, sizeof(*list->items), compare_items);
			return;
		}
}

static struct syscap_embedded_file *find_file(struct syscap_file *file, const char *path)
{
	for (size_t i = 0; i < file->n_files; i++)
		if (!strcmp(file->files[i].path, path))
			return &file->files[i];
	return NULL;
}

/* Adds a piece of a file. A second file with the same path is refused. */
static int add_chunk(struct syscap_file *file, const struct syscap_chunk_frame *chunk,
		     size_t *n_bytes)
{
	struct syscap_embedded_file *embedded = find_file(file, chunk->path);

	if (!embedded && file->n_files < SYSCAP_FILES_MAX) {
		if (GROWING_LIST_MAKE_ROOM(file->files, file->n_files) < 0)
			return -ENOMEM;
		embedded = &file->files[file->n_files++];
		*embedded = (struct syscap_embedded_file){ 0 };
		strcpy(embedded->path, chunk->path);
	}
	if (!embedded || embedded->is_whole || chunk->size > SYSCAP_FILES_BYTES_MAX - *n_bytes) {
		file->n_refused++;
		return 0;
	}
	if (GROWING_LIST_RESIZE(embedded->data, embedded->size + chunk->size + 1) < 0)
		return -ENOMEM;
	memcpy(embedded->data + embedded->size, chunk->data, chunk->size);
	embedded->size += chunk->size;
	embedded->is_whole = chunk->is_last & 1;
	*n_bytes += chunk->size;
	return 0;
}

static int read_chunks(struct syscap_file *file)
{
	size_t n_bytes = 0;
	int r = 0;

	for (size_t i = 0; i < file->descriptions.n && r == 0; i++) {
		const struct syscap_frame *frame = syscap_file_frame(file, &file->descriptions, i);

		if ((frame->type & 0xff) == SYSCAP_FILE_CHUNK)
			r = add_chunk(file, (const void *)frame, &n_bytes);
	}
	return r;
}

int syscap_file_init(struct syscap_file *file, const struct capture_file *bytes)
{
	int r;

	*file = (struct syscap_file){ .file = bytes, .data = bytes->data, .size = bytes->size };
	pair_map_init(&file->jitmap, SYSCAP_JITMAP_MAX);
	r = read_frames(file);
	if (r < 0)
		return r;
	sort(&file->frames);
	sort(&file->descriptions);
	if (file->end == SYSCAP_FILE_WHOLE)
		file->end = find_end(file);
	return read_chunks(file);
}

void syscap_file_deinit(struct syscap_file *file)
{
	for (size_t i = 0; i < file->n_files; i++)
		free(file->files[i].data);
	free(file->files);
	free(file->frames.items);
	free(file->descriptions.items);
	pair_map_deinit(&file->jitmap);
	*file = (struct syscap_file){ 0 };
}

const char *syscap_file_jitmap(const struct syscap_file *file, uint64_t address)
{
	uint64_t *offset = pair_map_find(&file->jitmap, address, 0);

	return offset ? file->data + *offset : NULL;
}

const char *syscap_file_metadata(const struct syscap_file *file, const char *id)
{
	for (size_t i = file->descriptions.n; i-- > 0;) {
		const struct syscap_frame *frame = syscap_file_frame(file, &file->descriptions, i);
		const struct syscap_metadata_frame *metadata = (const void *)frame;

		if ((frame->type & 0xff) == SYSCAP_METADATA && !strcmp(metadata->id, id))
			return metadata->value;
	}
	return NULL;
}

const struct syscap_embedded_file *syscap_file_embedded(const struct syscap_file *file,
							const char *path)
{
	for (size_t i = 0; i < file->n_files; i++)
		if (file->files[i].is_whole && gzip_is_path_of(file->files[i].path, path))
			return &file->files[i];
	return NULL;
}
