/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is told of an allocation. The thread has been entered; nothing here allocates or locks. */
#pragma once

#include <stddef.h>

#include "preload-source/injected/walk.h"

/* Behind the allocator's call. */
void record_allocated(const void *block, size_t size, struct walk_frame caller);

/* In front of it: from there on another thread may have the block. */
void record_freed(const void *block);

/* realloc(3): in front of it the block is released, and if it fails it is restored. */
void record_released(const void *block);
void record_restored(const void *block);

/*
 * The same of memory that the program maps itself: in front of munmap(2) and mremap(2) it is
 * unmapped, and if these fail it was kept.
 */
void record_mapped(const void *address, size_t size, struct walk_frame caller);
void record_unmapped(const void *address, size_t size);
void record_kept(const void *address, size_t size);

/* Code is about to be unmapped, has been. */
void record_closing(void);
void record_closed(void);

/* Whether any code that is known lies in these bytes. */
bool record_is_code(const void *address, size_t size);
