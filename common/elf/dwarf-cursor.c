/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/dwarf-cursor.h"

uint64_t dwarf_take(struct dwarf_cursor *cursor, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < size) {
		cursor->at = cursor->end;
		cursor->is_bad = true;
		return 0;
	}
	memcpy(&value, cursor->at, size);
	cursor->at += size;
	return value;
}

/* Reads 7 bits per byte, lowest first; drops bits beyond 64. Returns the number of bits read. */
static unsigned take_leb(struct dwarf_cursor *cursor, uint64_t *ret, uint8_t *ret_last)
{
	unsigned shift = 0;

	*ret = 0;
	do {
		*ret_last = dwarf_take(cursor, 1);
		if (shift < 64)
			*ret |= (uint64_t)(*ret_last & 0x7f) << shift;
		shift += 7;
	} while (*ret_last & 0x80);
	return shift;
}

uint64_t dwarf_take_uleb(struct dwarf_cursor *cursor)
{
	uint64_t value;
	uint8_t last;

	take_leb(cursor, &value, &last);
	return value;
}

int64_t dwarf_take_sleb(struct dwarf_cursor *cursor)
{
	uint64_t value;
	uint8_t last;
	unsigned n_bits = take_leb(cursor, &value, &last);

	if (n_bits < 64 && last & 0x40)
		value |= -1ULL << n_bits;
	return value;
}
