/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens a file that a profiled program supposedly wrote (a perf map, a jitdump), on behalf of a
 * process with more rights than that program, at a path where any user may have put something.
 *
 * Accepts a regular file that belongs to the program's user, or to root if the program's user could
 * read it, too: a mount or hard link must not make root disclose its secrets. No other user may be
 * able to write to it (file-trust.h). The last component of the path is no symbolic link; links
 * before it do not lead out of the program's root. The file is checked by an O_PATH descriptor, so
 * that no FIFO blocks and no device is touched, and what was checked is what is opened.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* bytes; a larger perf map is refused */
enum { PERF_MAP_SIZE_MAX = 512 * 1024 * 1024 };

enum target_file_outcome {
	TARGET_FILE_OK,
	TARGET_FILE_E_MISSING, /* no such file or directory */
	TARGET_FILE_E_DENIED,  /* we may not look it up or open it */
	TARGET_FILE_E_LINK,    /* a symbolic link, or too many in the path */
	TARGET_FILE_E_DIRECTORY,
	TARGET_FILE_E_SPECIAL,	/* a FIFO, a socket or a device */
	TARGET_FILE_E_FOREIGN,	/* another user's */
	TARGET_FILE_E_PRIVATE,	/* root's, and unreadable for the program's user */
	TARGET_FILE_E_WRITABLE, /* others may write to it */
	TARGET_FILE_E_TOO_LARGE,
	TARGET_FILE_E_MAY_HANG, /* its file system may never answer (common/file/file-system.h) */
};

struct target_file_policy {
	uid_t user;	   /* of the program, in our user namespace */
	gid_t group;	   /* may have write permission, if the program's umask allows it */
	uint64_t size_max; /* bytes */
};

/*
 * Opens `path` (a leading slash is allowed) below the directory `root_fd`: /proc/PID/root, opened
 * without O_NOFOLLOW. May block for as long as the file system does. Returns a target_file_outcome:
 * with OK a read-only descriptor, with E_MAY_HANG an O_PATH one, which the caller owns; or -errno
 * if the file is not to blame.
 */
int target_file_open(int root_fd, const char *path, const struct target_file_policy *policy,
		     int *ret_fd);
