/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zeroed pages for large, mostly empty tables and buffers: they take no memory until touched. */
#pragma once

#include <stddef.h>

/* Returns NULL without memory. The caller gives the pages back with the same size. */
void *zero_pages_get(size_t size);

/* Does nothing for NULL. */
void zero_pages_give_back(void *pages, size_t size);
