/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <sys/ioctl.h>

#include "common/proc/procmap-query.h"

enum { EXECUTABLE = 0x04, COVERING_OR_NEXT = 0x10 };

int procmap_query(int fd, uint64_t address, struct procmap *ret, char *path, size_t size)
{
	struct procmap_query_arguments query = {
		.size = sizeof(query),
		.flags = EXECUTABLE | COVERING_OR_NEXT,
		.address = address,
		.name = (uintptr_t)path,
		.name_size = size,
	};

	path[0] = 0;
	if (ioctl(fd, PROCMAP_QUERY_COMMAND, &query) < 0)
		return -errno;
	if (!query.name_size)
		path[0] = 0;
	*ret = (struct procmap){
		.start = query.start,
		.end = query.end,
		.offset = query.offset,
		.major = query.major,
		.minor = query.minor,
		.inode = query.inode,
	};
	return 0;
}
