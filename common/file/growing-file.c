/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file/growing-file.h"

static int read_at(int fd, uint64_t offset, void *ret, size_t size, size_t *ret_size)
{
	ssize_t n;

	do
		n = pread(fd, ret, size, offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*ret_size = n;
	return 0;
}

int growing_file_check(struct growing_file *file, int fd, uint64_t *ret_size)
{
	char mark[GROWING_FILE_MARK_SIZE];
	struct stat status;
	size_t n = 0;
	int r;

	if (fstat(fd, &status) < 0)
		return -errno;
	*ret_size = status.st_size;
	r = read_at(fd, file->mark_at, mark, file->mark_size, &n);
	if (r < 0)
		return r;
	if (file->offset <= (uint64_t)status.st_size && n == file->mark_size &&
	    !memcmp(mark, file->mark, n))
		return GROWING_FILE_OK;
	*file = (struct growing_file){ 0 };
	return GROWING_FILE_E_ANEW;
}

int growing_file_read(struct growing_file *file, int fd, void *ret, size_t size, size_t *ret_size)
{
	int r = read_at(fd, file->offset, ret, size, ret_size);

	if (r < 0 || !*ret_size)
		return r;
	file->offset += *ret_size;
	file->mark_size = *ret_size < sizeof(file->mark) ? *ret_size : sizeof(file->mark);
	file->mark_at = file->offset - file->mark_size;
	memcpy(file->mark, (const char *)ret + *ret_size - file->mark_size, file->mark_size);
	return 0;
}

int growing_file_skip(struct growing_file *file, int fd, uint64_t n, uint64_t *ret_n)
{
	uint64_t left = 0;
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if ((uint64_t)status.st_size > file->offset)
		left = status.st_size - file->offset;
	*ret_n = n < left ? n : left;
	file->offset += *ret_n;
	return 0;
}
