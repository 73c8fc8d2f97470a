/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/magic.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "common/base/clock.h"
#include "common/stream/file-identity.h"

/*
 * On btrfs (a device for each subvolume) and overlayfs (one for each layer, or for all) stat(2)
 * reports other devices than /proc/PID/maps and perf's records: the inode alone decides.
 */
static bool makes_up_devices(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 &&
	       (system.f_type == OVERLAYFS_SUPER_MAGIC || system.f_type == BTRFS_SUPER_MAGIC);
}

bool file_identity_is(int fd, const struct stat *status, uint32_t device_major,
		      uint32_t device_minor, uint64_t inode)
{
	if (status->st_ino != inode || major(status->st_dev) != device_major ||
	    (!device_major && !device_minor))
		return false;
	return minor(status->st_dev) == device_minor || (!device_major && makes_up_devices(fd));
}

bool file_device_lasts(int fd, const struct stat *status, uint64_t *ret)
{
	struct statfs system;

	if (fstatfs(fd, &system) < 0 || system.f_type == FUSE_SUPER_MAGIC)
		return false;
	*ret = status->st_dev;
	if (system.f_type != BTRFS_SUPER_MAGIC)
		return major(status->st_dev);
	_Static_assert(sizeof(system.f_fsid) == sizeof(*ret), "the whole id");
	memcpy(ret, &system.f_fsid, sizeof(*ret));
	return true;
}

bool file_key_of(int fd, struct file_key *ret)
{
	struct stat status;

	if (fstat(fd, &status) < 0 || !file_device_lasts(fd, &status, &ret->device))
		return false;
	ret->inode = status.st_ino;
	ret->size = status.st_size;
	ret->modified_ns = clock_nanoseconds(status.st_mtim);
	ret->changed_ns = clock_nanoseconds(status.st_ctim);
	return true;
}
