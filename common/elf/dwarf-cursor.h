/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the numbers that DWARF's tables consist of (DWARF 5, 7.6), one after another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A position in the bytes. A read beyond `end` returns 0 and sets is_bad. */
struct dwarf_cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

/* Reads a little-endian number of 1, 2, 4 or 8 bytes. */
uint64_t dwarf_take(struct dwarf_cursor *cursor, size_t size);
uint64_t dwarf_take_uleb(struct dwarf_cursor *cursor);
int64_t dwarf_take_sleb(struct dwarf_cursor *cursor);
