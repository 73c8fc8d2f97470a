/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory for large tables and buffers that may stay empty for the most part: whole pages of the
 * kernel's, zero, that cost nothing until they are touched.
 */
#pragma once

#include <stddef.h>

/* NULL: there is none. The caller gives it back with the same size. */
void *zero_pages_get(size_t size);

/* Of NULL nothing is given back. */
void zero_pages_give_back(void *pages, size_t size);
