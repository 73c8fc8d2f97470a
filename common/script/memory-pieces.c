/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/memory-pieces.h"

bool memory_pieces_begin(const struct wire_blob *bytes, uint64_t object_size,
			 struct memory_pieces *ret)
{
	const char *begin = bytes->data;

	if (object_size > bytes->size)
		return false;
	*ret = (struct memory_pieces){ begin + object_size, begin + bytes->size };
	return true;
}

bool memory_pieces_next(struct memory_pieces *pieces, struct wire_blob *ret)
{
	uint64_t size;

	if ((size_t)(pieces->end - pieces->at) < sizeof(size))
		return false;
	memcpy(&size, pieces->at, sizeof(size));
	pieces->at += sizeof(size);
	if (size > (size_t)(pieces->end - pieces->at))
		return false;
	*ret = (struct wire_blob){ pieces->at, size };
	size = (size + 7) & ~7ULL;
	pieces->at = size > (size_t)(pieces->end - pieces->at) ? pieces->end : pieces->at + size;
	return true;
}

uint64_t memory_number(const char *at, size_t size)
{
	uint64_t number = 0;

	memcpy(&number, at, size);
	return number;
}
