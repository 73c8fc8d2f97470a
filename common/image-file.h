/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that an image was opened as. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"

struct image_file {
	int fd; /* read-only; -1: not opened */
	enum wire_image_status status;
	uint64_t size;
	uint64_t modified; /* nanoseconds since 1970 */
};

/*
 * Whether an opened file is of another size or was changed since. It does not wait for a network:
 * what this host knows decides (AT_STATX_DONT_SYNC, which fstatat(2) takes since Linux 4.11, too).
 */
bool image_file_has_changed(const struct image_file *file);
