/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To be preloaded: lets allocations fail that the program's own code asks for.
 *
 *	FAIL_IN=NAME	of a program of that name
 *	FAIL_AT=N	the Nth of them, from 1 on
 *	FAIL_FROM_THEN_ON	set: each one behind it, too
 *	FAIL_COUNT=FILE	none: how many there are is written to FILE at the end
 *	OWN_CODE=FILE	lines of "START END": where in the program its own code is, in hexadecimal
 *	FAIL_LIBRARIES	set: what libraries ask for fails like our own
 *
 * Without it, what they ask for is theirs, linked into the program or not, and given.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANGES_MAX = 8192 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);

static struct {
	uintptr_t start, end;
} ranges[RANGES_MAX];
static size_t n_ranges;
static uint64_t n_asked, fail_at;
static int fails_from_then_on, fails_libraries, is_wanted, is_ready;

static int find_program(struct dl_phdr_info *info, size_t size, void *base)
{
	*(uintptr_t *)base = info->dlpi_addr;
	return 1; /* the program comes first */
}

/* What is done behind main() is not the program's own: coverage is written then. */
static void rest(void)
{
	is_ready = 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("OWN_CODE"), *at = getenv("FAIL_AT"), *name = getenv("FAIL_IN");
	FILE *file = path ? fopen(path, "re") : NULL;
	uintptr_t base = 0;

	is_wanted = name && !strcmp(name, program_invocation_short_name);

	dl_iterate_phdr(find_program, &base);
	while (file && n_ranges < RANGES_MAX &&
	       fscanf(file, "%lx %lx", &ranges[n_ranges].start, &ranges[n_ranges].end) == 2) {
		ranges[n_ranges].start += base;
		ranges[n_ranges++].end += base;
	}
	if (file)
		fclose(file);
	fail_at = at ? strtoull(at, NULL, 10) : 0;
	fails_from_then_on = getenv("FAIL_FROM_THEN_ON") != NULL;
	fails_libraries = getenv("FAIL_LIBRARIES") != NULL;
	is_ready = is_wanted;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAIL_COUNT");
	FILE *file = path && is_wanted ? fopen(path, "we") : NULL;

	if (file) {
		fprintf(file, "%lu\n", (unsigned long)n_asked);
		fclose(file);
	}
}

static int is_own(uintptr_t caller)
{
	size_t low = 0, high = n_ranges;

	if (fails_libraries)
		return 1;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (caller < ranges[middle].start)
			high = middle;
		else if (caller >= ranges[middle].end)
			low = middle + 1;
		else
			return 1;
	}
	return 0;
}

static int must_fail(void *caller)
{
	uint64_t n;

	if (!is_ready || !is_own((uintptr_t)caller))
		return 0;
	n = __atomic_add_fetch(&n_asked, 1, __ATOMIC_RELAXED);
	if (n == 1) /* not in the constructor: what the loader does at the end would come before */
		atexit(rest);
	if (!fail_at || (n != fail_at && !(fails_from_then_on && n > fail_at)))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return must_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return must_fail(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *pointer, size_t size)
{
	return must_fail(__builtin_return_address(0)) ? NULL : __libc_realloc(pointer, size);
}

void *reallocarray(void *pointer, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return must_fail(__builtin_return_address(0)) ? NULL : __libc_realloc(pointer, bytes);
}

/* glibc's own call of malloc() does not come through here. */
char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = must_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	char *copy = must_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size + 1);

	if (!copy)
		return NULL;
	copy[size] = 0;
	return memcpy(copy, text, size);
}

/* Of no file: an allocation like any other. With 64-bit offsets its name is mmap64, here as there.
 */
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (flags & MAP_ANONYMOUS && must_fail(__builtin_return_address(0)))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
