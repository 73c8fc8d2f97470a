/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creates files that others must not have a hand in, also in a directory where anybody may put
 * something (as /tmp): what was there is never written to, and no link is followed.
 */
#pragma once

#include <stdbool.h>

enum output_file_mode {
	OUTPUT_FILE_NEW, /* -EEXIST if there is anything of that name, be it a link to nowhere */
	OUTPUT_FILE_REPLACE,  /* a file or link of that name is removed first */
	OUTPUT_FILE_KEEP_OLD, /* the same, but it is kept: of new-file.h alone */
};

/*
 * Whether `path` is not a file's: one of our own descriptors (/dev/stdout, /dev/fd/3), or a device,
 * FIFO or socket that is there. It is written to as it is, whatever the mode.
 */
bool output_file_is_special(const char *path);

/*
 * Creates `path` with mode 0600. To be replaced, a device or FIFO is written to as it is, as are
 * the names of our own descriptors (/dev/stdout, /dev/fd/3). A descriptor of the caller's, or
 * -errno.
 */
int output_file_open(const char *path, enum output_file_mode mode);

/* Whether output_file_open() may do, without doing anything. 0 or -errno. */
int output_file_check(const char *path, enum output_file_mode mode);
