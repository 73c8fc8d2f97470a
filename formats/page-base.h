/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile in a page that was written before, to be put into another one beside its own. */
#pragma once

#include <stddef.h>

enum { PAGE_BASE_MAX = 256 * 1024 * 1024 };

/*
 * Its text, of base64's characters alone, which the caller frees. 0 or -errno; -EBADMSG: the file
 * is no page of ours.
 */
int page_base_read(const char *path, char **ret, size_t *ret_size);
