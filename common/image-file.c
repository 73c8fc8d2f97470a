/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/image-file.h"

bool image_file_has_changed(const struct image_file *file)
{
	struct stat now;

	return fstatat(file->fd, "", &now, AT_EMPTY_PATH | AT_STATX_DONT_SYNC) == 0 &&
	       ((uint64_t)now.st_size != file->size ||
		clock_nanoseconds(now.st_mtim) != file->modified);
}
