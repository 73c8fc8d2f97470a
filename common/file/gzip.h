/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files in memory, compressed as gzip does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether data begins as a compressed file does (RFC 1952, 2.3.1); text never does. */
bool gzip_is_compressed(const void *data, size_t size);

/* Whether `path` names the file `name`, or that compressed: "name.gz". */
bool gzip_is_path_of(const char *path, const char *name);

/* The caller frees `*ret`. 0 or -ENOMEM. */
int gzip_compress(const void *data, size_t size, char **ret, size_t *ret_size);

/*
 * The other way round, for data that is not trusted: -EBADMSG: it is damaged, or unfolds to more
 * than `limit` bytes. A zero byte follows the result, which the caller frees.
 */
int gzip_decompress(const void *data, size_t size, size_t limit, char **ret, size_t *ret_size);
