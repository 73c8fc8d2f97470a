/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: an image with the path, size and time of an existing file, as in a recorded stream. */
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/base/clock.h"
#include "common/stream/image-table.h"

static inline void record_file(struct image *image)
{
	struct stat status = { 0 };

	stat(image->path, &status);
	image->device_major = major(status.st_dev);
	image->device_minor = minor(status.st_dev);
	image->inode = status.st_ino;
	image->state = (struct wire_image_state){
		.image = image->number,
		.status = WIRE_image_status_OPEN,
		.size = status.st_size,
		.modified = clock_nanoseconds(status.st_mtim),
		.changed = clock_nanoseconds(status.st_ctim),
	};
}
