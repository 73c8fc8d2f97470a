/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "common/base/cleanup.h"
#include "common/file/file-system.h"

/* Missing in linux/magic.h; each from its file system's own header in the kernel. */
enum {
	BCACHEFS_MAGIC = 0xca451a4e,
	EXFAT_MAGIC = 0x2011bab0,
	JFS_MAGIC = 0x3153464a,
	NTFS3_MAGIC = 0x7366746e,
	UDF_MAGIC = 0x15013346,
	ZFS_MAGIC = 0x2fc12fc1,
};

static bool is_local(unsigned long type)
{
	switch (type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case CRAMFS_MAGIC:
	case MSDOS_SUPER_MAGIC: /* and vfat */
	case ISOFS_SUPER_MAGIC:
	case MINIX_SUPER_MAGIC:
	case MINIX2_SUPER_MAGIC:
	case MINIX3_SUPER_MAGIC:
	case NILFS_SUPER_MAGIC:
	case REISERFS_SUPER_MAGIC:
	case BCACHEFS_MAGIC:
	case EXFAT_MAGIC:
	case JFS_MAGIC:
	case NTFS3_MAGIC:
	case UDF_MAGIC:
	case ZFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * "36 35 0:51 /root /mount/point options … - overlay source options": spaces in paths are escaped,
 * so no path can imitate the separator.
 */
static bool parse_overlay(const char *line, dev_t *ret)
{
	const char *type = strstr(line, " - overlay ");
	unsigned major, minor;

	if (!type || sscanf(line, "%*u %*u %u:%u ", &major, &minor) != 2)
		return false;
	*ret = makedev(major, minor);
	return true;
}

void own_overlays_read(struct own_overlays *ret)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/mountinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	dev_t device;

	*ret = (struct own_overlays){ .list = calloc(OWN_OVERLAYS_MAX, sizeof(*ret->list)) };
	while (file && ret->list && ret->n < OWN_OVERLAYS_MAX && getline(&line, &size, file) > 0)
		if (parse_overlay(line, &device))
			ret->list[ret->n++] = device;
}

void own_overlays_deinit(struct own_overlays *overlays)
{
	free(overlays->list);
	*overlays = (struct own_overlays){ 0 };
}

static bool holds(const struct own_overlays *overlays, dev_t device)
{
	for (size_t i = 0; i < overlays->n; i++)
		if (overlays->list[i] == device)
			return true;
	return false;
}

static bool is_own_overlay(dev_t device, const struct own_overlays *known)
{
	_cleanup_(own_overlays_deinit) struct own_overlays now = { 0 };

	if (known)
		return holds(known, device);
	own_overlays_read(&now);
	return holds(&now, device);
}

bool file_system_answers(int fd, const struct stat *status, const struct own_overlays *overlays)
{
	struct statfs system;

	if (fstatfs(fd, &system) < 0)
		return false;
	if (system.f_type == OVERLAYFS_SUPER_MAGIC)
		return is_own_overlay(status->st_dev, overlays);
	return is_local(system.f_type);
}
