/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creates output files safely even where anybody can create files (as /tmp): an existing file is
 * never written to, and no link is followed.
 */
#pragma once

#include <stdbool.h>

enum output_file_mode {
	OUTPUT_FILE_NEW,      /* -EEXIST if the name exists, even as a dangling link */
	OUTPUT_FILE_REPLACE,  /* an existing file or link is removed first */
	OUTPUT_FILE_KEEP_OLD, /* likewise, but it is kept; only for new-file.h */
};

/*
 * Whether `path` is not a regular file's: one of our own descriptors (/dev/stdout, /dev/fd/3), or
 * an existing device, FIFO or socket. It is never replaced.
 */
bool output_file_is_special(const char *path);

/*
 * Creates `path` with mode 0600. OUTPUT_FILE_REPLACE opens a device, FIFO or own descriptor
 * (/dev/stdout, /dev/fd/3) as it is. Returns a descriptor, which the caller owns, or -errno.
 */
int output_file_open(const char *path, enum output_file_mode mode);

/* Checks whether output_file_open() may succeed, without any change. 0 or -errno. */
int output_file_check(const char *path, enum output_file_mode mode);
