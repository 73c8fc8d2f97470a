/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture-source/capture-file.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/file/owned-file.h"

enum { FIRST_COPIED = 64 * 1024 };

static int copy(int fd, struct capture_file *file)
{
	_cleanup_free_ char *data = NULL;
	size_t used = 0, size = 0;
	ssize_t n;

	do {
		if (used == CAPTURE_FILE_COPIED_MAX)
			return -EFBIG;
		if (GROWING_LIST_RESERVE(data, size, FIRST_COPIED, used + 1) < 0)
			return -ENOMEM;
		n = read(fd, data + used, size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		used += n > 0 ? n : 0;
	} while (n);
	file->data = take_pointer(data);
	file->size = used;
	return 0;
}

int capture_file_open(struct capture_file *file, const char *path)
{
	bool is_input = !strcmp(path, "-");
	_cleanup_fd_ int opened = is_input ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	int fd = is_input ? STDIN_FILENO : opened;
	struct stat status;
	void *map;

	*file = (struct capture_file){ 0 };
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode) || !owned_file_is_ours(&status) || status.st_size == 0 ||
	    lseek(fd, 0, SEEK_CUR) != 0)
		return copy(fd, file);
	map = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*file = (struct capture_file){ map, status.st_size, true };
	return 0;
}

void capture_file_close(struct capture_file *file)
{
	if (file->is_mapped)
		munmap((void *)file->data, file->size);
	else
		free((void *)file->data);
	*file = (struct capture_file){ 0 };
}

void capture_file_come_to(const struct capture_file *file, struct map_pass *pass, size_t at)
{
	if (file->is_mapped)
		map_pass_come_to(pass, file->data, at);
}
