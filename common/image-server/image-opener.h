/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the file behind a mapping, as the kernel reported it, and nothing else: a regular file
 * with that inode, whatever its path means by now. Tried in this order: the mapping itself
 * (/proc/PID/map_files), the path under the process's root, the path here.
 *
 * The file is looked up without opening it (O_PATH), so that a FIFO, a device or a hanging file
 * system is not touched before it is known to be a regular file.
 */
#pragma once

#include "common/image-server/image-file.h"
#include "common/wire/wire.h"

/*
 * May wait for as long as a file system lets it wait. The caller owns ret->fd, which is not open to
 * be read (is_path) where the file system may never answer; a jitdump is refused there.
 */
void image_open(const struct wire_image_open *request, struct image_file *ret);

/* What an errno says of a file that could not be looked up or opened. */
enum wire_image_status image_status_of_error(int error);
