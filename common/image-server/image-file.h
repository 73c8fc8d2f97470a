/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An opened image. A file whose file system may never answer (common/file/file-system.h) is never
 * read: `fd` is a copy then, and `original` an O_PATH descriptor, on which neither fstat(2) nor
 * close(2) blocks.
 */
#pragma once

#include <stdbool.h>

#include "common/file/file-state.h"
#include "common/image-server/file-copy.h"
#include "common/wire/wire.h"

struct image_file {
	int fd;	      /* read-only; -1: not opened */
	int original; /* O_PATH descriptor of the file that `fd` is a copy of; 0: no copy */
	bool is_path; /* `fd` itself is O_PATH, still to be copied */
	enum wire_image_status status;
	struct file_state state;

	/* Of a copy: the share that it is charged to. */
	struct copy_shares *shares; /* borrowed */
	uid_t user;
};

/* Closes the descriptors and releases a copy's share; the rest stays. */
void image_file_close(struct image_file *file);

/* The descriptor that shows changes of the file. */
static inline int image_file_watched(const struct image_file *file)
{
	return file->original ? file->original : file->fd;
}

/*
 * Copies an is_path file for a user. Sets the status: OPEN; REFUSED: too large, or the user's share
 * is used up; GONE. May block for as long as the file system does.
 */
void image_file_copy(struct image_file *file, struct copy_shares *shares, uid_t user);

/*
 * Whether an opened file may have changed. Does not wait for a network: the host's cached
 * attributes decide (AT_STATX_DONT_SYNC; fstatat(2) takes it since Linux 4.11, too). A file that
 * lost its last name is compared with its state at that time from then on.
 */
bool image_file_has_changed(struct image_file *file);
