/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compresses and decompresses whole files in memory, in gzip's format. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether data begins like a compressed file (RFC 1952, 2.3.1); text never does. */
bool gzip_is_compressed(const void *data, size_t size);

/* Whether `path` is `name`, or `name` with ".gz" for the compressed file. */
bool gzip_is_path_of(const char *path, const char *name);

/* Returns 0, -ENOMEM or -EFBIG: 2 GiB or more; the caller frees `*ret`. */
int gzip_compress(const void *data, size_t size, char **ret, size_t *ret_size);

/*
 * Decompresses untrusted data. 0, -ENOMEM, -EBADMSG: it is damaged, or larger than `limit` bytes,
 * or -EFBIG: it or the limit are of 2 GiB or more. A zero byte follows the result, which the caller
 * frees.
 */
int gzip_decompress(const void *data, size_t size, size_t limit, char **ret, size_t *ret_size);
