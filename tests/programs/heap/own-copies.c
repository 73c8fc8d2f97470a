/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An allocator's own strdup() and strndup(), as mimalloc 3 has: they allocate internally, bypassing
 * malloc. For LD_PRELOAD.
 */
#include <string.h>

void *__libc_malloc(size_t size); /* the C library's own allocator */

char *strndup(const char *text, size_t size_max)
{
	size_t length = strnlen(text, size_max);
	char *copy = __libc_malloc(length + 1);

	if (!copy)
		return NULL;
	copy[length] = 0;
	return memcpy(copy, text, length);
}

char *strdup(const char *text)
{
	return strndup(text, strlen(text));
}
