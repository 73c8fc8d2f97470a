/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Reads a file of unknown size (in /proc, files have none), up to `limit` bytes, and adds a zero
 * byte. The caller frees `*ret`. 0 or -errno; -EFBIG: it is larger.
 */
int read_file(const char *path, size_t limit, char **ret, size_t *ret_size);

/* The same for an open file, from its position. */
int read_file_descriptor(int fd, size_t limit, char **ret, size_t *ret_size);
