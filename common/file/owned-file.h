/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

/*
 * Whether only we (and root) can change a file, so that it can be mapped and read more than once.
 * Our user is in the auxiliary vector: no stage changes it, and sandboxes need not allow a call.
 */
static inline bool owned_file_is_ours(const struct stat *status)
{
	return status->st_uid == getauxval(AT_EUID) && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Maps a file that is read sequentially, as mmap(2). It is read in huge pages where the kernel has
 * them for files: a replay would spend half of its time on many small ones.
 */
static inline void *owned_file_map_sequential(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return map;
	madvise(map, size, MADV_SEQUENTIAL);
	madvise(map, size, MADV_HUGEPAGE);
	return map;
}
