/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libstackpipe-preload.so: interposes the C library's allocator and records its calls. The program
 * sees the same results and errno as without us, and no file, thread, signal or lock of ours.
 *
 * With sampling nearly all calls are skipped. That is decided here in a few instructions, without a
 * frame; each hook ends with a jump.
 */
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload-source/injected/hooks.h"
#include "preload-source/injected/next.h"
#include "preload-source/injected/recorded.h"
#include "preload-source/injected/sampling.h"
#include "preload-source/injected/sanitizer.h"

#define EXPORT __attribute__((visibility("default"), noinline))

EXPORT void *malloc(size_t size)
{
	return sampling_skips(size) ? next.malloc(size) : recorded_malloc(size);
}

/* Our malloc, by a name that cannot be interposed. */
__asm__(".hidden own_malloc\n\t.set own_malloc, malloc");
extern void *own_malloc(size_t size) __attribute__((visibility("hidden")));

bool hooks_are_first(void)
{
	void *(*volatile found)(size_t size) = malloc; /* resolved by the dynamic linker */

	return found == own_malloc;
}

EXPORT void free(void *block)
{
	if (sampling_has_skipped(block))
		next.free(block);
	else if (block && !next_is_pooled(block))
		recorded_free(block);
}

EXPORT void *calloc(size_t n, size_t size)
{
	size_t all;

	if (!__builtin_mul_overflow(n, size, &all) && sampling_skips(all))
		return next.calloc(n, size);
	return recorded_calloc(n, size);
}

EXPORT void *realloc(void *block, size_t size)
{
	if (sampling_has_skipped(block) && sampling_skips(size))
		return next.realloc(block, size);
	return recorded_realloc(block, size);
}

EXPORT void *reallocarray(void *block, size_t n, size_t size)
{
	return recorded_reallocarray(block, n, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return recorded_aligned_alloc(alignment, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
	return recorded_memalign(alignment, size);
}

EXPORT void *valloc(size_t size)
{
	return recorded_valloc(size);
}

EXPORT void *pvalloc(size_t size)
{
	return recorded_pvalloc(size);
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t size)
{
	return recorded_posix_memalign(ret, alignment, size);
}

/* The C library's strdup() and strndup() call malloc(), which is hooked. */
EXPORT char *strdup(const char *text)
{
	size_t size;

	if (!next_has_own_copies())
		return next.strdup(text);
	size = strlen(text) + 1;
	return sampling_skips(size) ? next.strdup(text) : recorded_strdup(text, size);
}

EXPORT char *strndup(const char *text, size_t size_max)
{
	size_t size;

	if (!next_has_own_copies())
		return next.strndup(text, size_max);
	size = strnlen(text, size_max) + 1;
	return sampling_skips(size) ? next.strndup(text, size_max)
				    : recorded_strndup(text, size_max, size);
}

/* C23. The sizes are not needed; not every C library has these functions. */
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

EXPORT void free_sized(void *block, size_t size)
{
	free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
	free(block);
}

EXPORT int dlclose(void *handle)
{
	return recorded_dlclose(handle);
}

#if !__GLIBC_PREREQ(2, 34)
/*
 * There libpthread and AddressSanitizer are initialized before us. The first thing AddressSanitizer
 * does is to check with this function whether another library precedes it.
 */
EXPORT int dl_iterate_phdr(int (*each)(struct dl_phdr_info *info, size_t size, void *arg),
			   void *arg)
{
	sanitizer_step_aside();
	return next.dl_iterate_phdr(each, arg);
}
#endif

EXPORT int munmap(void *address, size_t size)
{
	return recorded_munmap(address, size);
}

EXPORT int mprotect(void *address, size_t size, int protection)
{
	return recorded_mprotect(address, size, protection);
}

EXPORT int pkey_mprotect(void *address, size_t size, int protection, int key)
{
	return recorded_pkey_mprotect(address, size, protection, key);
}

EXPORT int madvise(void *address, size_t size, int advice)
{
	return recorded_madvise(address, size, advice);
}

/* The C library has both names; with offsets of 64 bits its header maps mmap() to mmap64(). */
EXPORT void *hook_mmap(void *address, size_t size, int protection, int flags, int fd,
		       off_t offset) __asm__("mmap");
EXPORT void *hook_mmap64(void *address, size_t size, int protection, int flags, int fd,
			 off_t offset) __asm__("mmap64");

void *hook_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return recorded_mmap(address, size, protection, flags, fd, offset);
}

void *hook_mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return recorded_mmap(address, size, protection, flags, fd, offset);
}

/*
 * The fifth argument is used with MREMAP_FIXED only. It is passed the same way to a variadic
 * function and to this one (psABI), which unlike a variadic one can end with a jump.
 */
EXPORT void *hook_mremap(void *address, size_t size, size_t new_size, int flags,
			 void *new_address) __asm__("mremap");

void *hook_mremap(void *address, size_t size, size_t new_size, int flags, void *new_address)
{
	return recorded_mremap(address, size, new_size, flags, new_address);
}

/*
 * Hooked to stop our own system calls before a seccomp filter is set. Both functions are variadic;
 * as with mremap, the hooks pass on the maximum of arguments.
 */
EXPORT int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		      unsigned long d) __asm__("prctl");
EXPORT long hook_syscall(long number, long a, long b, long c, long d, long e,
			 long f) __asm__("syscall");

int hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	return option == PR_SET_SECCOMP || option == PR_SET_TSC
		       ? recorded_filter_by_prctl(option, a, b, c, d)
		       : next.prctl(option, a, b, c, d);
}

long hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	return number == SYS_seccomp ||
			       (number == SYS_prctl && (a == PR_SET_SECCOMP || a == PR_SET_TSC))
		       ? recorded_filter_by_syscall(number, a, b, c, d, e)
		       : next.syscall(number, a, b, c, d, e, f);
}
