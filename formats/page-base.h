/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the profile of an existing page, to embed it in a new page beside its own profile. */
#pragma once

#include <stddef.h>

enum { PAGE_BASE_MAX = 256 * 1024 * 1024 };

/*
 * Returns the data as base64, with no other characters; the caller frees it. 0 or -errno; -EBADMSG:
 * the file is not a stackpipe page.
 */
int page_base_read(const char *path, char **ret, size_t *ret_size);
