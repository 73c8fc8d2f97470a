/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Executable mappings asked of the kernel one by one, as numbers: PROCMAP_QUERY, an ioctl of
 * /proc/PID/maps since Linux 6.11 (linux/fs.h). The text of a small process takes 45 µs, this 8.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* struct procmap_query, which headers before that lack. */
struct procmap_query_arguments {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};

#define PROCMAP_QUERY_COMMAND _IOWR('f', 17, struct procmap_query_arguments)

struct procmap {
	uint64_t start, end, offset;
	uint32_t major, minor;
	uint64_t inode;
};

/*
 * The first executable mapping that ends behind an address, of the process whose /proc/PID/maps is
 * open as `fd`; its path goes into `path` (`size` bytes, with a zero byte). 0; -ENOENT: there is
 * none; -ESRCH: the process has no memory (any more); -ENAMETOOLONG; -ENOTTY: an older kernel.
 */
int procmap_query(int fd, uint64_t address, struct procmap *ret, char *path, size_t size);
