/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload-source/injected/next.h"
#include "preload-source/injected/sanitizer.h"
#include "preload-source/injected/system-call.h"

char next_pool[NEXT_POOL_SIZE] __attribute__((aligned(4096)));
static size_t pool_used;
/*
 * volatile: dlsym(3) is declared to call nothing of ours (leaf); until glibc 2.33 it calls
 * calloc(3).
 */
static __thread volatile bool is_looking __attribute__((tls_model("initial-exec")));

static void *pool_allocate(size_t alignment, size_t size)
{
	size_t used = __atomic_load_n(&pool_used, __ATOMIC_RELAXED), at;

	if (alignment < NEXT_POOL_ALIGNMENT)
		alignment = NEXT_POOL_ALIGNMENT;
	do {
		/* Each block is preceded by its size. */
		at = (used + sizeof(size) + alignment - 1) & ~(alignment - 1);
		if (at > NEXT_POOL_SIZE || size > NEXT_POOL_SIZE - at) {
			errno = ENOMEM;
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&pool_used, &used, at + size, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	memcpy(next_pool + at - sizeof(size), &size, sizeof(size));
	return next_pool + at;
}

size_t next_pool_used(void)
{
	return __atomic_load_n(&pool_used, __ATOMIC_RELAXED);
}

size_t next_pooled_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - sizeof(size), sizeof(size));
	return size;
}

/* clang-format off */
#define FUNCTIONS(DO)                                                                              \
	DO(malloc) DO(calloc) DO(realloc) DO(free) DO(aligned_alloc) DO(posix_memalign)            \
	DO(memalign) DO(valloc) DO(pvalloc) DO(strdup) DO(strndup) DO(dlclose)                     \
	DO(dl_iterate_phdr) DO(mmap) DO(munmap) DO(mprotect) DO(pkey_mprotect) DO(madvise)         \
	DO(mremap) DO(prctl) DO(syscall)
/* clang-format on */

#define LOOK_UP(name)                                                                              \
	function = dlsym(RTLD_NEXT, #name);                                                        \
	if (function)                                                                              \
		memcpy(&found.name, &function, sizeof(function));

static const void *object_of(const void *function)
{
	Dl_info info;

	return dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* Threads that run this concurrently find the same functions. */
static void look_up(void)
{
	struct next found = next;
	void *function;

	sanitizer_step_aside(); /* else the sanitizer's functions are found */
	is_looking = true;
	FUNCTIONS(LOOK_UP)
	/* No allocator has a prctl(): that one is the C library's. */
	found.has_own_copies = object_of(found.strdup) != object_of(found.prctl);
	is_looking = false;
	next = found;
}

/*
 * Initial functions of `next`: each looks the real one up and calls it, or uses the pool if the
 * look-up itself called it. If no library has the real one, it fails as it would without us.
 */
#define FIRST(name, otherwise, ...)                                                                \
	do {                                                                                       \
		__typeof__(next.name) was_ = next.name;                                            \
		if (!is_looking)                                                                   \
			look_up();                                                                 \
		if (is_looking || next.name == was_)                                               \
			return otherwise;                                                          \
		return next.name(__VA_ARGS__);                                                     \
	} while (0)

static int fail(int error)
{
	errno = error;
	return -1;
}

static void *first_malloc(size_t size)
{
	FIRST(malloc, pool_allocate(0, size), size);
}

static void *first_calloc(size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	FIRST(calloc, pool_allocate(0, all), n, size); /* the pool is zero, as it is never reused */
}

static void *first_realloc(void *block, size_t size)
{
	FIRST(realloc, pool_allocate(0, size), block, size);
}

static void first_free(void *block)
{
	if (!is_looking)
		look_up();
	if (next.free != first_free)
		next.free(block);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	FIRST(aligned_alloc, pool_allocate(alignment, size), alignment, size);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t size)
{
	FIRST(posix_memalign, (*ret = pool_allocate(alignment, size)) ? 0 : ENOMEM, ret, alignment,
	      size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	FIRST(memalign, pool_allocate(alignment, size), alignment, size);
}

static void *first_valloc(size_t size)
{
	FIRST(valloc, pool_allocate(4096, size), size);
}

static void *first_pvalloc(size_t size)
{
	FIRST(pvalloc, pool_allocate(4096, (size + 4095) & ~(size_t)4095), size);
}

static char *first_copy(const char *text, size_t length)
{
	char *copy = pool_allocate(0, length + 1);

	return copy ? memcpy(copy, text, length) : NULL; /* the pool is zero */
}

static char *first_strdup(const char *text)
{
	FIRST(strdup, first_copy(text, strlen(text)), text);
}

static char *first_strndup(const char *text, size_t size_max)
{
	FIRST(strndup, first_copy(text, strnlen(text, size_max)), text, size_max);
}

bool next_has_own_copies(void)
{
	if (next.strdup == first_strdup && !is_looking)
		look_up();
	return next.has_own_copies;
}

static int first_dlclose(void *handle)
{
	FIRST(dlclose, fail(ENOSYS), handle);
}

static int first_dl_iterate_phdr(int (*each)(struct dl_phdr_info *info, size_t size, void *arg),
				 void *arg)
{
	FIRST(dl_iterate_phdr, fail(ENOSYS), each, arg);
}

static void *first_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	FIRST(mmap, (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset),
	      address, size, protection, flags, fd, offset);
}

static int first_munmap(void *address, size_t size)
{
	FIRST(munmap, fail(ENOSYS), address, size);
}

static int first_mprotect(void *address, size_t size, int protection)
{
	FIRST(mprotect, fail(ENOSYS), address, size, protection);
}

static int first_pkey_mprotect(void *address, size_t size, int protection, int key)
{
	FIRST(pkey_mprotect, fail(ENOSYS), address, size, protection, key);
}

static int first_madvise(void *address, size_t size, int advice)
{
	FIRST(madvise, fail(ENOSYS), address, size, advice);
}

static void *first_mremap(void *address, size_t size, size_t new_size, int flags, void *new_address)
{
	FIRST(mremap, (void *)(intptr_t)fail(ENOSYS), address, size, new_size, flags, new_address);
}

static int first_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		       unsigned long d)
{
	FIRST(prctl, fail(ENOSYS), option, a, b, c, d);
}

/* Like syscall(2), which is being looked up. */
static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
	long result = system_call(number, a, b, c, d, e, f);

	return result < 0 && result > -4096 ? fail(-result) : result;
}

static long first_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	FIRST(syscall, call_kernel(number, a, b, c, d, e, f), number, a, b, c, d, e, f);
}

#define INITIAL(name) .name = first_##name,
struct next next = { FUNCTIONS(INITIAL) };
