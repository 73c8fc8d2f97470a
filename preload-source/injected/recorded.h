/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The allocator's calls with recording. A free is recorded before it is done, and an allocation
 * after it, so no block is recorded as allocated twice at a time, whatever the threads.
 *
 * The hooks must return the results of these functions by a tail call (hooks.c): the recorded
 * caller is found by the frame, which then belongs to the hook's caller.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

void *recorded_malloc(size_t size);
void *recorded_calloc(size_t n, size_t size);
void *recorded_aligned_alloc(size_t alignment, size_t size);
void *recorded_memalign(size_t alignment, size_t size);
void *recorded_valloc(size_t size);
void *recorded_pvalloc(size_t size);
char *recorded_strdup(const char *text, size_t size); /* size: of the copy */
char *recorded_strndup(const char *text, size_t size_max, size_t size);
int recorded_posix_memalign(void **ret, size_t alignment, size_t size);
void recorded_free(void *block);
void *recorded_realloc(void *block, size_t size);
void *recorded_reallocarray(void *block, size_t n, size_t size);
int recorded_dlclose(void *handle);
void *recorded_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int recorded_munmap(void *address, size_t size);
int recorded_mprotect(void *address, size_t size, int protection);
int recorded_pkey_mprotect(void *address, size_t size, int protection, int key);
int recorded_madvise(void *address, size_t size, int advice);
void *recorded_mremap(void *address, size_t size, size_t new_size, int flags, void *new_address);

/* Calls that limit the program's system calls or TSC, by prctl(2) or seccomp(2). */
int recorded_filter_by_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
			     unsigned long d);
long recorded_filter_by_syscall(long number, long a, long b, long c, long d, long e);
