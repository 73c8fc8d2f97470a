/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The source lines of one DWARF unit, by address: its line program (DWARF 2 to 5, 6.2) is run once.
 * libdw can do so, too, but keeps 40 bytes of each row, and gives none of them back before the
 * whole file is closed; here rows take 12 bytes, and those that tell nothing new are left out.
 *
 * Every byte of a program may be hostile; of one that contradicts itself no line is known.
 */
#pragma once

#include <stdbool.h>

#include "symbolizer/dwarf/interval-map.h"

enum {
	LINE_FILE_NONE = UINT16_MAX, /* the file of a row is not known, or there is no code */
	LINE_ROWS_MAX = 1 << 22,     /* of a program; one byte of it can make one */
};

/* From an address on, up to the next row. */
struct line_row {
	uint32_t offset; /* behind the table's base */
	uint32_t line;
	uint16_t file; /* its number in the unit's list of files */
	uint16_t column;
};

struct line_table {
	struct line_row *rows; /* by offset */
	size_t n;
	uint64_t base;
};

/*
 * Makes the table of a line program, with its header; `size` bytes are there, perhaps of others
 * behind it, too. What begins outside of `code` is of a function that the linker dropped. 0,
 * -EBADMSG: it is damaged, -EFBIG: it has too many rows, and the table is empty; or -ENOMEM.
 */
int line_table_init(struct line_table *table, const void *program, size_t size,
		    const struct interval_map *code);
void line_table_deinit(struct line_table *table);

/* The row that holds an address; NULL: none does. */
const struct line_row *line_table_find(const struct line_table *table, uint64_t address);

/* Bytes that it takes. */
static inline size_t line_table_size(const struct line_table *table)
{
	return table->n * sizeof(*table->rows);
}
