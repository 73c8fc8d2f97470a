/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an allocator has that brings strdup() and strndup() of its own, as mimalloc 3 does: they
 * take their blocks from within, past malloc. For LD_PRELOAD.
 */
#include <string.h>

void *__libc_malloc(size_t size); /* the C library's allocator itself */

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
