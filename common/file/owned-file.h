/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

/*
 * Whether nobody but ourselves (and root) can change a file: what it holds can be mapped and looked
 * at more than once. (Who we are is asked of the auxiliary vector: no stage becomes another user,
 * and a sandbox need not allow a call for it.)
 */
static inline bool owned_file_is_ours(const struct stat *status)
{
	return status->st_uid == getauxval(AT_EUID) && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Maps a file that is read from its begin to its end, as mmap(2). What is not in memory yet comes
 * in huge pages where the kernel has any for files: a replay of many small ones spends half of its
 * time on them.
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
