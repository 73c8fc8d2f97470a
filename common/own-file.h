/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/stat.h>

/*
 * Whether nobody but ourselves (and root) can change a file: what it holds can be mapped and looked
 * at more than once. (Who we are is asked of the auxiliary vector: no stage becomes another user,
 * and a sandbox need not allow a call for it.)
 */
static inline bool file_is_our_own(const struct stat *status)
{
	return status->st_uid == getauxval(AT_EUID) && !(status->st_mode & (S_IWGRP | S_IWOTH));
}
