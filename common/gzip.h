/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole files in memory, compressed as gzip does. */
#pragma once

#include <stddef.h>

enum gzip_effort {
	GZIP_FAST = 1, /* while something is being recorded */
	GZIP_SMALL = 6,
};

/* The caller frees `*ret`. 0 or -ENOMEM. */
int gzip_compress(const void *data, size_t size, enum gzip_effort effort, char **ret,
		  size_t *ret_size);

/*
 * The other way round, for data that is not trusted: -EBADMSG: it is damaged, or unfolds to more
 * than `limit` bytes. A zero byte follows the result, which the caller frees.
 */
int gzip_decompress(const void *data, size_t size, size_t limit, char **ret, size_t *ret_size);
