/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a file is the one that the kernel reported as mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * File systems that make up device numbers (overlay, btrfs: major 0) may report another one to
 * stat(2) than in /proc/PID/maps and perf's records, so there the inode decides alone.
 */
static inline bool file_identity_is(const struct stat *status, uint32_t device_major,
				    uint32_t device_minor, uint64_t inode)
{
	if (status->st_ino != inode || major(status->st_dev) != device_major)
		return false;
	return device_major == 0 || minor(status->st_dev) == device_minor;
}
