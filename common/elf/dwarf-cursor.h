/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers that DWARF's tables are made of (DWARF 5, 7.6), taken one after the other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place in the bytes; what is read beyond `end` is 0 and makes it bad. */
struct dwarf_cursor {
	const uint8_t *at, *end;
	bool is_bad;
};

/* Little-endian, of 1, 2, 4 or 8 bytes. */
uint64_t dwarf_take(struct dwarf_cursor *cursor, size_t size);
uint64_t dwarf_take_uleb(struct dwarf_cursor *cursor);
int64_t dwarf_take_sleb(struct dwarf_cursor *cursor);
