/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ownership by attribute: what a local variable owns is freed at the end of its scope. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_fd_ _cleanup_(cleanup_fd)
#define _cleanup_file_ _cleanup_(cleanup_file)
#define _cleanup_dir_ _cleanup_(cleanup_dir)

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Moves a descriptor out of its owner, which becomes -1. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Moves a pointer out of its owner, which becomes NULL. */
#define take_pointer(owner)                                                                        \
	({                                                                                         \
		__typeof__(owner) taken_ = (owner);                                                \
		(owner) = NULL;                                                                    \
		taken_;                                                                            \
	})
