/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What memory records have: an object, and pieces behind it, to which its pointers led. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/wire/wire.h"

/* Reads a field of an object, or of a piece. False: its bytes do not reach so far. */
static inline bool memory_field(const struct wire_blob *bytes, int64_t at, void *ret, size_t size)
{
	if (at < 0 || bytes->size < size || (size_t)at > bytes->size - size)
		return false;
	memcpy(ret, (const char *)bytes->data + at, size);
	return true;
}

/* A piece behind an object: its size in 8 bytes, and its bytes, filled to a multiple of 8. */
struct memory_pieces {
	const char *at, *end;
};

/* False: the object itself is not whole. */
bool memory_pieces_begin(const struct wire_blob *bytes, uint64_t object_size,
			 struct memory_pieces *ret);

/* False: there is none, or it is not whole. */
bool memory_pieces_next(struct memory_pieces *pieces, struct wire_blob *ret);

/* A number of up to 8 bytes, of a little-endian machine. */
uint64_t memory_number(const char *at, size_t size);

/* A unit of a text whose characters have so many bytes; the text reaches so far. */
static inline uint32_t memory_unit(const struct wire_blob *text, size_t i, size_t size)
{
	return memory_number((const char *)text->data + i * size, size);
}
