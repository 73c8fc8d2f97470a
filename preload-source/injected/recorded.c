/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload-source/injected/filtered.h"
#include "preload-source/injected/next.h"
#include "preload-source/injected/record.h"
#include "preload-source/injected/recorded.h"
#include "preload-source/injected/thread.h"

/* The caller of the function that uses this, which has a frame pointer (see meson.build). */
#define CALLER()                                                                                   \
	((struct walk_frame){                                                                      \
		.pc = (uint64_t)__builtin_return_address(0),                                       \
		.sp = (uint64_t)__builtin_frame_address(0) + 2 * sizeof(uint64_t),                 \
		.fp = *(uint64_t *)__builtin_frame_address(0),                                     \
	})

/* Calls the allocator and records the block. */
#define ALLOCATED(size, call)                                                                      \
	do {                                                                                       \
		struct walk_frame caller_ = CALLER();                                              \
		void *block_;                                                                      \
                                                                                                   \
		if (!thread_enter())                                                               \
			return call;                                                               \
		thread_allocating();                                                               \
		block_ = call;                                                                     \
		thread_recording();                                                                \
		if (block_)                                                                        \
			record_allocated(block_, size, caller_);                                   \
		thread_leave();                                                                    \
		return block_;                                                                     \
	} while (0)

void *recorded_malloc(size_t size)
{
	ALLOCATED(size, next.malloc(size));
}

void *recorded_calloc(size_t n, size_t size)
{
	ALLOCATED(n * size, next.calloc(n, size)); /* on overflow there is no block */
}

void *recorded_aligned_alloc(size_t alignment, size_t size)
{
	ALLOCATED(size, next.aligned_alloc(alignment, size));
}

void *recorded_memalign(size_t alignment, size_t size)
{
	ALLOCATED(size, next.memalign(alignment, size));
}

void *recorded_valloc(size_t size)
{
	ALLOCATED(size, next.valloc(size));
}

void *recorded_pvalloc(size_t size)
{
	ALLOCATED(size, next.pvalloc(size));
}

char *recorded_strdup(const char *text, size_t size)
{
	ALLOCATED(size, next.strdup(text));
}

char *recorded_strndup(const char *text, size_t size_max, size_t size)
{
	ALLOCATED(size, next.strndup(text, size_max));
}

int recorded_posix_memalign(void **ret, size_t alignment, size_t size)
{
	struct walk_frame caller = CALLER();
	int error;

	if (!thread_enter())
		return next.posix_memalign(ret, alignment, size);
	thread_allocating();
	error = next.posix_memalign(ret, alignment, size);
	thread_recording();
	if (!error && *ret)
		record_allocated(*ret, size, caller);
	thread_leave();
	return error;
}

void recorded_free(void *block)
{
	if (!thread_enter()) {
		next.free(block);
		return;
	}
	record_freed(block);
	thread_allocating();
	next.free(block);
	thread_leave();
}

/* Moves a pool block to the allocator. */
static void *move_pooled(void *block, size_t size)
{
	void *moved = next.malloc(size);
	size_t had = next_pooled_size(block);

	if (moved)
		memcpy(moved, block, had < size ? had : size);
	return moved;
}

/*
 * The release is recorded first, as another thread may get the old block once the allocator is
 * called. Size 0 frees and returns NULL (glibc), or returns another block.
 */
static inline __attribute__((always_inline)) void *resize(void *block, size_t size,
							  struct walk_frame caller)
{
	bool is_pooled = block && next_is_pooled(block);
	void *resized;

	if (!thread_enter())
		return is_pooled ? move_pooled(block, size) : next.realloc(block, size);
	if (block && !is_pooled)
		record_released(block);
	thread_allocating();
	resized = is_pooled ? move_pooled(block, size) : next.realloc(block, size);
	thread_recording();
	if (resized)
		record_allocated(resized, size, caller);
	else if (size && block && !is_pooled)
		record_restored(block);
	thread_leave();
	return resized;
}

void *recorded_realloc(void *block, size_t size)
{
	return resize(block, size, CALLER());
}

void *recorded_reallocarray(void *block, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(block, all, CALLER());
}

/* Other code may be mapped where the library was, so code addresses change their meaning. */
int recorded_dlclose(void *handle)
{
	bool is_recorded = thread_enter();
	int result;

	if (!is_recorded)
		return next.dlclose(handle);
	record_closing();
	thread_leave();
	result = next.dlclose(handle); /* allocations of the library's destructors are recorded */
	record_closed();
	return result;
}

void *recorded_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct walk_frame caller = CALLER();
	bool is_code;
	void *result;

	if (flags & MAP_FIXED)
		thread_lose_stacks(address, size);
	if (!thread_enter())
		return next.mmap(address, size, protection, flags, fd, offset);
	is_code = flags & MAP_FIXED && record_is_code(address, size);
	if (is_code)
		record_closing();
	result = next.mmap(address, size, protection, flags, fd, offset);
	if (is_code)
		record_closed();
	if (result != MAP_FAILED) {
		stack_lose_first(result, size);
		record_mapped(result, size, caller);
	}
	thread_leave();
	return result;
}

int recorded_mprotect(void *address, size_t size, int protection)
{
	if (!(protection & PROT_READ))
		thread_lose_stacks(address, size);
	return next.mprotect(address, size, protection);
}

/* A key may deny a thread reading, whatever the protection is (pkeys(7)). */
int recorded_pkey_mprotect(void *address, size_t size, int protection, int key)
{
	if (!(protection & PROT_READ) || key > 0)
		thread_lose_stacks(address, size);
	return next.pkey_mprotect(address, size, protection, key);
}

int recorded_madvise(void *address, size_t size, int advice)
{
	enum { GUARD_INSTALL = 102 }; /* MADV_GUARD_INSTALL of Linux 6.13 */

	if (advice == GUARD_INSTALL)
		thread_lose_stacks(address, size);
	return next.madvise(address, size, advice);
}

int recorded_munmap(void *address, size_t size)
{
	bool is_code;
	int result;

	thread_lose_stacks(address, size);
	if (!thread_enter())
		return next.munmap(address, size);
	is_code = record_is_code(address, size);
	if (is_code)
		record_closing();
	record_unmapped(address, size);
	result = next.munmap(address, size);
	if (is_code)
		record_closed();
	if (result < 0)
		record_kept(address, size);
	thread_leave();
	return result;
}

/* A moved mapping is recorded as unmapped as a whole and mapped anew. */
void *recorded_mremap(void *address, size_t size, size_t new_size, int flags, void *new_address)
{
	struct walk_frame caller = CALLER();
	bool is_code, goes = !(flags & MREMAP_DONTUNMAP);
	void *result;

	thread_lose_stacks(address, size);
	if (flags & MREMAP_FIXED)
		thread_lose_stacks(new_address, new_size);
	if (!thread_enter())
		return next.mremap(address, size, new_size, flags, new_address);
	is_code = record_is_code(address, size);
	if (is_code)
		record_closing();
	if (goes)
		record_unmapped(address, size);
	result = next.mremap(address, size, new_size, flags, new_address);
	if (is_code)
		record_closed();
	if (result != MAP_FAILED)
		record_mapped(result, new_size, caller);
	else if (goes)
		record_kept(address, size);
	thread_leave();
	return result;
}

/*
 * No system call of ours may be made once the filter is set, and other threads may be about to make
 * one (SECCOMP_FILTER_FLAG_TSYNC), so filtered_begin() comes first. Strict mode also denies the
 * thread the TSC (prctl(2), PR_SET_TSC).
 */
int recorded_filter_by_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
			     unsigned long d)
{
	bool had_no_clock = thread.has_no_clock;
	int result;

	if (option == PR_SET_TSC ? a == PR_TSC_SIGSEGV : a == SECCOMP_MODE_STRICT)
		thread_lose_clock();
	if (option == PR_SET_TSC) {
		if (a == PR_TSC_SIGSEGV)
			filtered_lose_clock();
		return next.prctl(option, a, b, c, d);
	}
	filtered_begin();
	result = next.prctl(option, a, b, c, d);
	filtered_end(result == 0);
	if (result < 0)
		thread.has_no_clock = had_no_clock;
	return result;
}

long recorded_filter_by_syscall(long number, long a, long b, long c, long d, long e)
{
	bool is_strict = a == SECCOMP_SET_MODE_STRICT, had_no_clock = thread.has_no_clock;
	bool is_set;
	long result;

	if (number == SYS_prctl)
		return recorded_filter_by_prctl(a, b, c, d, e);
	if (!is_strict && a != SECCOMP_SET_MODE_FILTER)
		return next.syscall(number, a, b, c, d, e, 0);
	if (is_strict)
		thread_lose_clock();
	filtered_begin();
	result = next.syscall(number, a, b, c, d, e, 0);
	/* A filter with a listener returns its descriptor, TSYNC alone a TID on failure. */
	is_set = b & SECCOMP_FILTER_FLAG_TSYNC && !(b & SECCOMP_FILTER_FLAG_NEW_LISTENER)
			 ? result == 0
			 : result >= 0;
	filtered_end(is_set);
	if (!is_set)
		thread.has_no_clock = had_no_clock;
	return result;
}
