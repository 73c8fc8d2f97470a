/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that an image was opened as. What may never answer (common/file/file-system.h) is never
 * read: there a copy is had instead, and the original only by an O_PATH descriptor. To look at that
 * does not wait, nor does closing it, which of any other may.
 */
#pragma once

#include <stdbool.h>

#include "common/image-server/file-copy.h"
#include "common/file/file-state.h"
#include "common/wire/wire.h"

struct image_file {
	int fd;	      /* read-only; -1: not opened */
	int original; /* of which `fd` is a copy, O_PATH; 0: of none */
	bool is_path; /* `fd` itself is O_PATH: it is yet to be copied */
	enum wire_image_status status;
	struct file_state state;

	/* Of a copy: whose share it is of. */
	struct copy_shares *shares; /* borrowed */
	uid_t user;
};

/* Closes what it has, and gives back what a copy takes; the rest is as it was. */
void image_file_close(struct image_file *file);

/* The descriptor by which it is seen to change. */
static inline int image_file_watched(const struct image_file *file)
{
	return file->original ? file->original : file->fd;
}

/*
 * Copies a file that is_path, of a user: OPEN, or REFUSED, if it is too large or the user's share
 * is used up; GONE. May wait for as long as the file system lets it wait.
 */
void image_file_copy(struct image_file *file, struct copy_shares *shares, uid_t user);

/*
 * Whether an opened file may hold something else since. It does not wait for a network: what this
 * host knows decides (AT_STATX_DONT_SYNC, which fstatat(2) takes since Linux 4.11, too). One that
 * has lost its last name is looked at as it is then, from then on.
 */
bool image_file_has_changed(struct image_file *file);
