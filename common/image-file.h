/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file that an image was opened as. */
#pragma once

#include "common/file-state.h"
#include "common/wire.h"

struct image_file {
	int fd; /* read-only; -1: not opened */
	enum wire_image_status status;
	struct file_state state;
};

/*
 * Whether an opened file may hold something else since. It does not wait for a network: what this
 * host knows decides (AT_STATX_DONT_SYNC, which fstatat(2) takes since Linux 4.11, too). One that
 * has lost its last name is looked at as it is then, from then on.
 */
bool image_file_has_changed(struct image_file *file);
