/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/file/gzip.h"
#include "formats/syscap/files.h"

enum { GATHERED_FIRST = 64 * 1024 };

void syscap_files_deinit(struct syscap_files *files)
{
	free(files->gathered);
}

/* Pieces must not go back in time, because Sysprof sorts all frames by time. */
int syscap_files_put_piece(struct syscap_files *files, const char *path, uint64_t time,
			   const void *data, size_t size, int is_last)
{
	struct syscap_time when = { .pid = -1, .cpu = -1 };

	if (time > files->time)
		files->time = time;
	when.time = files->time;
	return syscap_put_chunk(files->syscap, when, path, data, size, is_last);
}

/* The length of a file's name without ".gz". */
static size_t name_size(const char *name)
{
	size_t size = strnlen(name, 250);

	return size > 3 && !strcmp(name + size - 3, ".gz") ? size - 3 : size;
}

/* Writes compressed data in as many pieces as necessary. */
static int put_compressed(struct syscap_files *files, const char *name, uint64_t time,
			  const char *data, size_t size, int is_last)
{
	char path[256];
	int r = 0;

	snprintf(path, sizeof(path), "%.*s.gz", (int)name_size(name), name);
	do {
		size_t piece = size < SYSCAP_CHUNK_MAX ? size : SYSCAP_CHUNK_MAX;

		r = syscap_files_put_piece(files, path, time, data, piece,
					   is_last && piece == size);
		data += piece;
		size -= piece;
	} while (size && r == 0);
	return r;
}

int syscap_files_put_whole(struct syscap_files *files, const char *name, uint64_t time,
			   const char *data, size_t size)
{
	_cleanup_free_ char *compressed = NULL;
	size_t n;
	int r = gzip_compress(data, size, &compressed, &n);

	return r < 0 ? r : put_compressed(files, name, time, compressed, n, 1);
}

/* Takes ownership of the bytes gathered so far. */
static char *take_gathered(struct syscap_files *files)
{
	files->gathered_size = files->gathered_allocated = 0;
	return take_pointer(files->gathered);
}

/* Gathers the pieces of an uncompressed file, which is compressed once it is complete. */
static int gather(struct syscap_files *files, const struct wire_file *file)
{
	_cleanup_free_ char *whole = NULL;
	size_t size = files->gathered_size + file->data.size;
	int r;

	if (files->is_too_large || size > SYSCAP_FILE_GATHERED_MAX) {
		free(take_gathered(files));
		files->is_too_large = file->left > 0;
		return SYSCAP_FILE_TOO_LARGE;
	}
	r = GROWING_LIST_RESERVE(files->gathered, files->gathered_allocated, GATHERED_FIRST,
				 size + 1);
	if (r < 0)
		return r;
	memcpy(files->gathered + files->gathered_size, file->data.data, file->data.size);
	files->gathered_size = size;
	if (file->left)
		return 0;
	whole = take_gathered(files);
	return syscap_files_put_whole(files, file->path.data, file->time, whole, size);
}

int syscap_files_add(struct syscap_files *files, const struct wire_file *file)
{
	if (!files->in_file)
		files->is_compressed = gzip_is_compressed(file->data.data, file->data.size);
	files->in_file = file->left > 0;
	if (!files->is_compressed)
		return gather(files, file);
	return put_compressed(files, file->path.data, file->time, file->data.data, file->data.size,
			      file->left == 0);
}
