/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/script/v8-pieces.h"

bool v8_pieces_read(const struct v8_fields *fields, const struct wire_blob *bytes, int64_t size,
		    int64_t type, struct wire_blob *ret, size_t n)
{
	struct memory_pieces pieces;
	uint16_t found;

	if (!memory_pieces_begin(bytes, size, &pieces))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!memory_pieces_next(&pieces, &ret[i]))
			return false;
	return v8_map_type(fields, &ret[0], &found) && found == type; /* maps come first */
}
