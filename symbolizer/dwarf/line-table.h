/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The source lines of one DWARF unit, by address: its line program (DWARF 2 to 5, 6.2) is run once.
 * libdw can run it too, but uses 40 bytes a row, and keeps them until the whole file is closed;
 * here rows take 12 bytes, and redundant ones are dropped.
 *
 * Every byte of a program may be hostile; one that contradicts itself gives no lines.
 */
#pragma once

#include <stdbool.h>

#include "symbolizer/dwarf/interval-map.h"

enum {
	LINE_FILE_NONE = UINT16_MAX, /* unknown file, or no code */
	LINE_ROWS_MAX = 1 << 22,     /* per program; one byte can make a row */
};

/* Valid from an address up to the next row's. */
struct line_row {
	uint32_t offset; /* from the table's base */
	uint32_t line;
	uint16_t file; /* number in the unit's file list */
	uint16_t column;
};

struct line_table {
	struct line_row *rows; /* by offset */
	size_t n;
	uint64_t base;
};

/*
 * Builds the table of a line program with its header; `size` bytes are available, which may include
 * later programs. The linker dropped functions that begin outside of `code`. 0, or with an empty
 * table -EBADMSG: damaged, -EFBIG: too many rows, or -ENOMEM.
 */
int line_table_init(struct line_table *table, const void *program, size_t size,
		    const struct interval_map *code);
void line_table_deinit(struct line_table *table);

/* The row of an address; NULL: none. */
const struct line_row *line_table_find(const struct line_table *table, uint64_t address);

/* Bytes of memory. */
static inline size_t line_table_size(const struct line_table *table)
{
	return table->n * sizeof(*table->rows);
}
