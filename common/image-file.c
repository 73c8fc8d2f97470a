/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/image-file.h"

bool image_file_has_changed(const struct image_file *file)
{
	struct statx now;
	uint64_t modified;

	if (statx(file->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE | STATX_MTIME,
		  &now) < 0)
		return false;
	modified = now.stx_mtime.tv_sec * NANOSECONDS_A_SECOND + now.stx_mtime.tv_nsec;
	return now.stx_size != file->size || modified != file->modified;
}
