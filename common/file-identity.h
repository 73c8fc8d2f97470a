/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a file is the one that the kernel reported as mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * `status` is that of `fd`, which may be an O_PATH descriptor. The same inode number on another
 * file system is another file: each container has a tmpfs of its own, and files come to lie there
 * in the same order. Of a device that is not known (0:0) no file is the one.
 */
bool file_identity_is(int fd, const struct stat *status, uint32_t device_major,
		      uint32_t device_minor, uint64_t inode);
