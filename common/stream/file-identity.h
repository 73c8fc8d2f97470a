/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether an open file is the one that the kernel reported as mapped, or that a cache recorded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * `status` is that of `fd`, which may be an O_PATH descriptor. The device must match, too: each
 * container has a tmpfs of its own, where files often get the same inode numbers in the same order.
 * With an unknown device (0:0) no file matches.
 */
bool file_identity_is(int fd, const struct stat *status, uint32_t device_major,
		      uint32_t device_minor, uint64_t inode);

/*
 * A number that identifies the file's file system for as long as it exists, for caches; false: it
 * has none. A file system without a device has a number that the kernel makes up and reuses after
 * unmount; and any user can mount some of these (tmpfs, overlayfs, FUSE: user_namespaces(7)) with
 * inodes and times of his choice. btrfs, which users cannot mount, has an fsid instead.
 */
bool file_device_lasts(int fd, const struct stat *status, uint64_t *ret);

/* What tells a file and its content apart, for caches; only root can change the content and keep
 * it. */
struct file_key {
	uint64_t device, inode, size, modified_ns, changed_ns;
};

/* False: it cannot be known, or its device does not last. */
bool file_key_of(int fd, struct file_key *ret);
