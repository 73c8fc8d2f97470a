/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Reads a file of which nobody knows the size before (those of /proc tell none), up to `limit`
 * bytes; a zero byte follows, and the caller frees it. 0 or -errno; -EFBIG: it is larger.
 */
int read_file(const char *path, size_t limit, char **ret, size_t *ret_size);

/* The same of an open one, from where it is. */
int read_file_descriptor(int fd, size_t limit, char **ret, size_t *ret_size);
