/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/file/read-file.h"

enum { FIRST_SIZE = 16 * 1024 };

int read_file_descriptor(int fd, size_t limit, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *data = NULL;
	size_t used = 0, size = 0;
	ssize_t n;

	do {
		if (GROWING_LIST_RESERVE(data, size, FIRST_SIZE, used + 2) < 0)
			return -ENOMEM;
		n = read(fd, data + used, size - used - 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		used += n > 0 ? n : 0;
		if (used > limit)
			return -EFBIG;
	} while (n != 0);
	data[used] = 0;
	*ret = take_pointer(data);
	*ret_size = used;
	return 0;
}

int read_file(const char *path, size_t limit, char **ret, size_t *ret_size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_file_descriptor(fd, limit, ret, ret_size);
}
