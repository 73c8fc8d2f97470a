/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload-source/injected/filtered.h"
#include "preload-source/injected/stack-view.h"
#include "preload-source/injected/system-call.h"

enum {
	/*
	 * The kernel maps nothing else so near below the first stack's end: it keeps 128 MiB free
	 * (mmap_base() of arch/x86/mm/mmap.c, and its like elsewhere).
	 */
	STACK_REACH = 64 << 20,
	COPIED_FIRST = 4096, /* bytes: frames are mostly small */
	PARTS = HEAP_RAW_BYTES_MAX / HEAP_PAGE + 1,
};

/* The process's first stack pointer (set by glibc's dynamic linker). */
extern void *__libc_stack_end __attribute__((weak));

/* Before glibc 2.34 only programs with libpthread have these. */
extern __typeof__(pthread_getattr_np) pthread_getattr_np __attribute__((weak));
extern __typeof__(pthread_attr_getstack) pthread_attr_getstack __attribute__((weak));
extern __typeof__(pthread_attr_destroy) pthread_attr_destroy __attribute__((weak));

static bool first_stack_is_lost;

static bool is_of_first_stack(uint64_t sp)
{
	uint64_t high = &__libc_stack_end ? (uint64_t)__libc_stack_end : 0;

	return sp < high && high - sp < STACK_REACH;
}

bool stack_own_lose(struct stack_own *own, const void *address, uint64_t size)
{
	uint64_t start = (uint64_t)address, end = start + size;

	if (start >= own->high || end <= own->low)
		return false;
	__atomic_store_n(&own->is_lost, true, __ATOMIC_RELAXED);
	return true;
}

bool stack_is_near(const void *address, uint64_t size)
{
	uint64_t start = (uint64_t)address, sp = (uint64_t)__builtin_frame_address(0);

	return start - sp < STACK_REACH || sp - start < STACK_REACH;
}

void stack_lose_first(const void *address, uint64_t size)
{
	uint64_t start = (uint64_t)address;

	if (size && (is_of_first_stack(start) || is_of_first_stack(start + size - 1)))
		__atomic_store_n(&first_stack_is_lost, true, __ATOMIC_RELAXED);
}

struct stack_own stack_own_of_thread(uint32_t tid)
{
	struct stack_own own = { .tid = tid, .has_first = true };
	pthread_attr_t attributes;
	size_t size;
	void *low;

	/* For the first thread pthread_getattr_np() would read /proc/self/maps. */
	if (!pthread_getattr_np || !pthread_attr_getstack || !pthread_attr_destroy ||
	    is_of_first_stack((uint64_t)__builtin_frame_address(0)) || filtered_is() ||
	    pthread_getattr_np(pthread_self(), &attributes))
		return own;
	if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
		own.low = (uint64_t)low;
		own.high = own.low + size;
	}
	pthread_attr_destroy(&attributes);
	return own;
}

void stack_view_begin(struct stack_view *view, const struct stack_own *own, uint64_t sp)
{
	uint64_t high = 0;

	if (sp >= own->low && sp < own->high && !__atomic_load_n(&own->is_lost, __ATOMIC_RELAXED))
		high = own->high;
	else if (own->has_first && is_of_first_stack(sp) &&
		 !__atomic_load_n(&first_stack_is_lost, __ATOMIC_RELAXED))
		high = (uint64_t)__libc_stack_end;
	view->tid = own->tid;
	view->start = sp;
	view->is_in_place = high != 0;
	view->bytes = (const char *)sp;
	/* The rest of the stack pointer's page is readable: we write to that page. */
	view->size = high ? high - sp : HEAP_PAGE - sp % HEAP_PAGE;
}

/*
 * How many bytes up to the first page that is not in memory; the used pages of a stack are. Other
 * pages may have to be provided (userfaultfd(2), FUSE) by a process that may wait for us.
 */
static uint64_t find_present(uint64_t start, uint64_t size)
{
	unsigned char is_present[PARTS] = { 0 };
	uint64_t page = start - start % HEAP_PAGE, n = 0;

	/* mincore(2) fails at unmapped memory, but answers for the pages before it. */
	system_call(SYS_mincore, page, start + size - page, is_present);
	while (n < PARTS && is_present[n] & 1)
		n++;
	page += n * HEAP_PAGE;
	return page <= start ? 0 : page - start < size ? page - start : size;
}

/* One part per page, as the kernel does not split a part (process_vm_readv(2)). */
static uint64_t copy(const struct stack_view *view, uint64_t from, uint64_t size, void *to)
{
	struct iovec parts[PARTS], whole = { to, size };
	uint64_t at = view->start + from, left = find_present(at, size);
	int error = errno, n = 0;
	long n_copied;

	for (; left && n < PARTS; n++) {
		uint64_t part = HEAP_PAGE - at % HEAP_PAGE;

		if (part > left)
			part = left;
		parts[n] = (struct iovec){ (void *)at, part };
		at += part;
		left -= part;
	}
	n_copied = system_call(SYS_process_vm_readv, view->tid, &whole, 1, parts, n, 0);
	errno = error;
	return n_copied > 0 ? n_copied : 0;
}

bool stack_view_extend(struct stack_view *view, uint64_t size)
{
	uint64_t wanted = size > COPIED_FIRST ? sizeof(view->copy) : COPIED_FIRST;
	uint64_t has = view->bytes == view->copy ? view->size : 0, n;

	if (view->is_in_place || size > sizeof(view->copy) || filtered_is())
		return false;
	n = has + copy(view, has, wanted - has, view->copy + has);
	if (n < view->size) /* the kernel refuses: the page must suffice */
		return false;
	view->bytes = view->copy;
	view->size = n;
	return n >= size;
}
