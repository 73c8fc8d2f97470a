/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens a file that a profiled program is said to have written (a perf map, a jitdump) at a path
 * that anybody could have put something at, by whoever may read more than that program.
 *
 * What is opened is a regular file that belongs to the program's user, or to root if the program's
 * user could read it, too: a mount or a hard link at the path must not make root show its secrets.
 * Nobody else may write to it (file-trust.h).
 * The last part of the path is no symbolic link; what links are before it do not lead out of the
 * program's root. The file is looked at before it is opened (O_PATH), so that no FIFO is waited
 * for and no device touched, and what was looked at is what is opened.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Bytes of a perf map: of a larger one nothing is read. */
enum { PERF_MAP_SIZE_MAX = 512 * 1024 * 1024 };

enum target_file_outcome {
	TARGET_FILE_OK,
	TARGET_FILE_E_MISSING, /* there is nothing, or no directory where it should be */
	TARGET_FILE_E_DENIED,  /* we may not look at it or open it */
	TARGET_FILE_E_LINK,    /* a symbolic link, or a path full of them */
	TARGET_FILE_E_DIRECTORY,
	TARGET_FILE_E_SPECIAL,	/* a FIFO, a socket or a device */
	TARGET_FILE_E_FOREIGN,	/* another user's */
	TARGET_FILE_E_PRIVATE,	/* root's, and the program's user could not read it */
	TARGET_FILE_E_WRITABLE, /* others may write to it */
	TARGET_FILE_E_TOO_LARGE,
	TARGET_FILE_E_MAY_HANG, /* its file system may never answer (common/file/file-system.h) */
};

struct target_file_policy {
	uid_t user;	   /* of the program, as we see it */
	gid_t group;	   /* by which it may let others write, as its umask says */
	uint64_t size_max; /* bytes */
};

/*
 * Opens `path`, which may begin with a slash, below the directory `root_fd`: for a process
 * /proc/PID/root, which must have been opened without O_NOFOLLOW. May wait for as long as its file
 * system lets it wait. A target_file_outcome, with TARGET_FILE_OK a read-only descriptor that the
 * caller owns, with TARGET_FILE_E_MAY_HANG likewise one that is O_PATH; or -errno, for what is no
 * fault of the file.
 */
int target_file_open(int root_fd, const char *path, const struct target_file_policy *policy,
		     int *ret_fd);
