/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/file/read-file.h"
#include "common/proc/peak-memory.h"

#define PEAK_LINE "\nVmHWM:"

enum { STATUS_SIZE_MAX = 64 * 1024 };

int peak_memory_open(void)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int peak_memory_read(int fd, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = read_file_descriptor(fd, STATUS_SIZE_MAX, &text, &size);
	const char *line = r == 0 ? strstr(text, PEAK_LINE) : NULL;

	if (r < 0)
		return r;
	if (!line)
		return -EBADMSG;
	*ret = strtoull(line + strlen(PEAK_LINE), NULL, 10);
	return 0;
}
