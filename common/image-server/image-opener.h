/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens exactly the regular file with the inode that the kernel reported for a mapping, whatever
 * its path is now. Tries, in this order, the mapping itself (/proc/PID/map_files), the path below
 * the process's root, and the path in our own root.
 *
 * Files are looked up with O_PATH first, so that FIFOs, devices and hanging file systems are not
 * touched before the file is known to be regular.
 */
#pragma once

#include "common/image-server/image-file.h"
#include "common/wire/wire.h"

/*
 * May block for as long as a file system does. The caller owns ret->fd; it is O_PATH (is_path)
 * where the file system may never answer, except that a jitdump is refused there.
 */
void image_open(const struct wire_image_open *request, struct image_file *ret);

/* Maps an errno of looking up or opening a file to a status. */
enum wire_image_status image_status_of_error(int error);
