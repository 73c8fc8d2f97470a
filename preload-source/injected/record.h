/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes records of allocations, after thread_enter(). Nothing here allocates or locks. */
#pragma once

#include <stddef.h>

#include "preload-source/injected/walk.h"

/* After the allocator's call. */
void record_allocated(const void *block, size_t size, struct walk_frame caller);

/* Before the allocator's call, during which another thread may get the block. */
void record_freed(const void *block);

/* realloc(3): the block is released before the call, and restored if it fails. */
void record_released(const void *block);
void record_restored(const void *block);

/* The same for mappings: unmapped before munmap(2) and mremap(2), kept if these fail. */
void record_mapped(const void *address, size_t size, struct walk_frame caller);
void record_unmapped(const void *address, size_t size);
void record_kept(const void *address, size_t size);

/* Before and after code is unmapped. */
void record_closing(void);
void record_closed(void);

/* Whether any listed code lies in these bytes. */
bool record_is_code(const void *address, size_t size);
