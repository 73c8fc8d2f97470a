/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File ids of files' contents, as OpenTelemetry computes them (common/stream/file-id.h). */
#include <endian.h>
#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/file-state.h"
#include "common/stream/file-id.h"

enum { END_SIZE = 4096 }; /* bytes that are hashed at the beginning and at the end of a file */

/* The whole file if it is not larger. */
static size_t size_of_end(uint64_t size)
{
	return size < END_SIZE ? size : END_SIZE;
}

static void hash(const void *head, const void *tail, uint64_t size, struct file_id *ret)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint64_t size_emitted = htobe64(size);
	SHA2_CTX context;

	SHA256Init(&context);
	SHA256Update(&context, head, size_of_end(size));
	SHA256Update(&context, tail, size_of_end(size));
	SHA256Update(&context, (const void *)&size_emitted, sizeof(size_emitted));
	SHA256Final(digest, &context);
	memcpy(ret->bytes, digest, FILE_ID_SIZE);
}

void file_id_of_bytes(const void *bytes, size_t size, struct file_id *ret)
{
	hash(bytes, (const char *)bytes + (size - size_of_end(size)), size, ret);
}

static int read_whole(int fd, char *ret, size_t size, off_t offset)
{
	while (size) {
		ssize_t n = pread(fd, ret, size, offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : FILE_ID_E_CHANGED;
		ret += n;
		size -= n;
		offset += n;
	}
	return FILE_ID_OK;
}

static bool is_same_content(const struct stat *before, const struct stat *after)
{
	const struct file_state then = file_state_of(before), now = file_state_of(after);

	return !file_state_may_differ(&then, &now);
}

/* Reads instead of mapping: truncating a mapped file would kill us (SIGBUS). */
int file_id_of_file(int fd, struct file_id *ret)
{
	char head[END_SIZE], tail[END_SIZE];
	struct stat before, after;
	size_t size;
	int r;

	if (fstat(fd, &before) < 0)
		return -errno;
	if (!S_ISREG(before.st_mode))
		return FILE_ID_E_NOT_REGULAR;
	size = size_of_end(before.st_size);
	r = read_whole(fd, head, size, 0);
	if (r == FILE_ID_OK)
		r = read_whole(fd, tail, size, before.st_size - size);
	if (r != FILE_ID_OK)
		return r;
	if (fstat(fd, &after) < 0)
		return -errno;
	if (!is_same_content(&before, &after))
		return FILE_ID_E_CHANGED;
	hash(head, tail, before.st_size, ret);
	return FILE_ID_OK;
}
