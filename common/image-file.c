/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/image-file.h"

bool image_file_has_changed(struct image_file *file)
{
	struct file_state now;
	struct stat status;

	if (fstatat(file->fd, "", &status, AT_EMPTY_PATH | AT_STATX_DONT_SYNC) < 0)
		return false;
	now = file_state_of(&status);
	if (file_state_may_differ(&file->state, &now))
		return true;
	file->state = now;
	return false;
}
