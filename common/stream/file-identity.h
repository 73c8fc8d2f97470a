/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a file is the one that the kernel reported as mapped, or that somebody remembers. */
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

/*
 * A number of the file system that a file lies on, which stays its own for as long as there is one,
 * for whoever remembers files. false: it has none. A file system without a device has one that the
 * kernel makes up, and gives to the next when it is unmounted; and any user can mount some of them
 * (tmpfs, overlayfs, FUSE: user_namespaces(7)) so that inode and times are what he likes. btrfs,
 * which is not for him, has an id of its own instead.
 */
bool file_device_lasts(int fd, const struct stat *status, uint64_t *ret);
