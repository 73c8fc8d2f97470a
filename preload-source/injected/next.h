/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The allocator behind our hooks: the C library's, or the program's own, such as jemalloc. It is
 * looked up in the first call of any hook. What the look-up itself allocates comes from a small
 * pool that is never freed.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret, size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	char *(*strdup)(const char *text);
	char *(*strndup)(const char *text, size_t size_max);
	int (*dlclose)(void *handle);
	int (*dl_iterate_phdr)(int (*each)(struct dl_phdr_info *info, size_t size, void *arg),
			       void *arg);
	void *(*mmap)(void *address, size_t size, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *address, size_t size);
	int (*mprotect)(void *address, size_t size, int protection);
	int (*pkey_mprotect)(void *address, size_t size, int protection, int key);
	int (*madvise)(void *address, size_t size, int advice);
	int (*prctl)(int option, unsigned long a, unsigned long b, unsigned long c,
		     unsigned long d);
	long (*syscall)(long number, long a, long b, long c, long d, long e, long f);
	void *(*mremap)(void *address, size_t size, size_t new_size, int flags, void *new_address);
	bool has_own_copies;
};

extern struct next next;

enum { NEXT_POOL_SIZE = 32768, NEXT_POOL_ALIGNMENT = 16 };

extern char next_pool[NEXT_POOL_SIZE];

/* Whether a block is of the pool, which is never freed. */
static inline bool next_is_pooled(const void *block)
{
	return (size_t)((const char *)block - next_pool) < NEXT_POOL_SIZE;
}

/*
 * Whether the allocator has its own strdup() and strndup(), as mimalloc does: the C library's call
 * malloc(), which is hooked; an allocator's own call internal functions.
 */
bool next_has_own_copies(void);

/* Bytes of the pool in use: no more are added after the first look-up. */
size_t next_pool_used(void);

/* The size that was requested for a block of the pool. */
size_t next_pooled_size(const void *block);
