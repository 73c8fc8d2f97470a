/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What we need of string(3), whose functions may be those of an uninitialized sanitizer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline size_t text_size(const char *text)
{
	size_t size = 0;

	while (text[size])
		size++;
	return size;
}

/* The text after a prefix; NULL: it begins with something else. */
static inline const char *text_behind(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix) {
		text++;
		prefix++;
	}
	return *prefix ? NULL : text;
}

/* The number that a text begins with, after blanks; 0: none. */
static inline uint64_t text_number(const char *text)
{
	uint64_t number = 0;

	while (*text == ' ' || *text == '\t')
		text++;
	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (*text - '0');
	return number;
}
