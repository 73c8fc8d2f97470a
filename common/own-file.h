/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Whether nobody but ourselves (and root) can change a file: what it holds can be mapped and looked
 * at more than once.
 */
static inline bool file_is_our_own(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}
