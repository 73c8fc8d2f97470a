/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/long-name.h"

#define MARK "…#"

enum { DIGITS = 16, MARK_SIZE = sizeof(MARK) - 1 + DIGITS };

uint64_t long_name_hash(const char *name, size_t size, uint64_t seed)
{
	return hash_bytes(HASH_BYTES ^ seed, name, size);
}

size_t long_name_mark(char *text, size_t size, uint64_t hash)
{
	if (size > LONG_NAME_MAX - MARK_SIZE)
		size = LONG_NAME_MAX - MARK_SIZE;
	/* Do not cut within a character: UTF-8 continuation bytes begin with the bits 10. */
	while (size && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size + sprintf(text + size, MARK "%0*" PRIx64, DIGITS, hash);
}

const char *long_name_fit(const char *name, uint64_t seed, char room[LONG_NAME_MAX + 1])
{
	size_t size = strlen(name);

	if (size <= LONG_NAME_MAX)
		return name;
	memcpy(room, name, LONG_NAME_MAX);
	long_name_mark(room, LONG_NAME_MAX, long_name_hash(name, size, seed));
	return room;
}

bool long_name_is_cut(const char *name, size_t size)
{
	/* The cut drops an incomplete character, at most three bytes. */
	return size <= LONG_NAME_MAX && size > LONG_NAME_MAX - 4 &&
	       !memcmp(name + size - MARK_SIZE, MARK, sizeof(MARK) - 1);
}
