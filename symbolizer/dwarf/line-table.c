/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/elf/dwarf-cursor.h"
#include "symbolizer/dwarf/line-table.h"

enum { VERSION_MIN = 2, VERSION_MAX = 5, N_OPERANDS = 256 };

/* Fields of the header that the program needs. */
struct line_header {
	uint8_t unit_advance; /* minimum bytes of an instruction */
	uint8_t line_range, opcode_base;
	int8_t line_base;
	uint8_t n_operands[N_OPERANDS]; /* of standard opcodes */
};

/* A row as emitted by the program. */
struct made_row {
	uint64_t address;
	size_t number;
	uint32_t line;
	uint16_t file, column;
	bool is_end; /* no code from here on */
};

struct line_run {
	struct line_header header;
	struct dwarf_cursor at;
	const struct interval_map *code;
	struct made_row now; /* state of the next row */
	struct made_row *list;
	size_t n;
	size_t sequence; /* first row of the current sequence */
};

/* Replaces a number that rows have no room for. */
static uint16_t narrow(uint64_t number, uint16_t otherwise)
{
	return number < UINT16_MAX ? number : otherwise;
}

/* Skips the header; false: an unsupported one. */
static bool read_header(struct line_run *run)
{
	struct line_header *header = &run->header;
	struct dwarf_cursor *at = &run->at;
	uint64_t size = dwarf_take(at, 4), version;
	bool is_long = size == UINT32_MAX;
	const uint8_t *begin;

	if (is_long)
		size = dwarf_take(at, 8);
	if (at->is_bad || size > (size_t)(at->end - at->at))
		return false;
	at->end = at->at + size;
	version = dwarf_take(at, 2);
	if (version < VERSION_MIN || version > VERSION_MAX)
		return false;
	if (version >= 5 && (dwarf_take(at, 1) != sizeof(uint64_t) || dwarf_take(at, 1) != 0))
		return false; /* sizes of an address and of a segment selector */
	size = dwarf_take(at, is_long ? 8 : 4);
	if (at->is_bad || size > (size_t)(at->end - at->at))
		return false;
	begin = at->at + size; /* behind the lists of directories and files */
	header->unit_advance = dwarf_take(at, 1);
	if (version >= 4 && dwarf_take(at, 1) != 1)
		return false; /* VLIW: several operations per instruction */
	dwarf_take(at, 1);    /* default_is_stmt is unused */
	header->line_base = dwarf_take(at, 1);
	header->line_range = dwarf_take(at, 1);
	header->opcode_base = dwarf_take(at, 1);
	for (size_t i = 1; i < header->opcode_base; i++)
		header->n_operands[i] = dwarf_take(at, 1);
	if (at->is_bad || at->at > begin || !header->line_range || !header->opcode_base)
		return false;
	at->at = begin;
	return true;
}

static int add_row(struct line_run *run)
{
	if (run->n == LINE_ROWS_MAX)
		return -EFBIG;
	if (GROWING_LIST_MAKE_ROOM(run->list, run->n) < 0)
		return -ENOMEM;
	run->now.number = run->n;
	run->list[run->n++] = run->now;
	return 0;
}

static void begin_sequence(struct line_run *run)
{
	run->sequence = run->n;
	run->now = (struct made_row){ .file = 1, .line = 1 };
}

/* Marks the last row, which gives the end; others at its address have no code but would go on. */
static void end_sequence(struct line_run *run)
{
	struct made_row *rows = run->list + run->sequence;
	size_t n = run->n - run->sequence;

	for (; n > 1 && rows[n - 2].address == rows[n - 1].address; n--)
		rows[n - 2] = rows[n - 1];
	rows[n - 1].is_end = true;
	if (interval_map_find(run->code, rows[0].address) == INTERVAL_NONE)
		n = 0;
	run->n = run->sequence + n;
	begin_sequence(run);
}

static int run_extended(struct line_run *run)
{
	struct dwarf_cursor *at = &run->at;
	uint64_t size = dwarf_take_uleb(at);
	const uint8_t *end;
	int r = 0;

	if (at->is_bad || !size || size > (size_t)(at->end - at->at))
		return -EBADMSG;
	end = at->at + size;
	switch (dwarf_take(at, 1)) {
	case DW_LNE_end_sequence:
		r = add_row(run);
		if (r == 0)
			end_sequence(run);
		break;
	case DW_LNE_set_address:
		if (size != 1 + sizeof(uint64_t))
			return -EBADMSG;
		run->now.address = dwarf_take(at, sizeof(uint64_t));
		break;
	default: /* irrelevant to rows */
		break;
	}
	at->at = end;
	return r;
}

static void advance(struct line_run *run, uint64_t n)
{
	run->now.address += n * run->header.unit_advance;
}

static int run_standard(struct line_run *run, uint8_t opcode)
{
	struct dwarf_cursor *at = &run->at;
	const struct line_header *header = &run->header;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(run);
	case DW_LNS_advance_pc:
		advance(run, dwarf_take_uleb(at));
		return 0;
	case DW_LNS_advance_line:
		run->now.line += (uint64_t)dwarf_take_sleb(at);
		return 0;
	case DW_LNS_set_file:
		run->now.file = narrow(dwarf_take_uleb(at), LINE_FILE_NONE);
		return 0;
	case DW_LNS_set_column:
		run->now.column = narrow(dwarf_take_uleb(at), 0);
		return 0;
	case DW_LNS_const_add_pc:
		advance(run, (UINT8_MAX - header->opcode_base) / header->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		run->now.address += dwarf_take(at, 2);
		return 0;
	default:
		for (size_t i = 0; i < header->n_operands[opcode]; i++)
			dwarf_take_uleb(at);
		return 0;
	}
}

static int run_special(struct line_run *run, uint8_t opcode)
{
	unsigned int n = opcode - run->header.opcode_base;

	advance(run, n / run->header.line_range);
	run->now.line += run->header.line_base + (int)(n % run->header.line_range);
	return add_row(run);
}

/* 0, -EBADMSG, -EFBIG or -ENOMEM. */
static int run_program(struct line_run *run)
{
	int r = 0;

	if (!read_header(run))
		return -EBADMSG;
	begin_sequence(run);
	while (r == 0 && run->at.at < run->at.end) {
		uint8_t opcode = dwarf_take(&run->at, 1);

		if (opcode >= run->header.opcode_base)
			r = run_special(run, opcode);
		else if (opcode == 0)
			r = run_extended(run);
		else
			r = run_standard(run, opcode);
		if (run->at.is_bad)
			r = -EBADMSG;
	}
	if (r == 0 && run->n > run->sequence) /* some compilers omit the end */
		end_sequence(run);
	return r;
}

/* At one address an end sorts before the beginning of another sequence. */
static int compare(const void *a, const void *b)
{
	const struct made_row *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	if (left->is_end != right->is_end)
		return left->is_end ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void sort(struct line_run *run)
{
	for (size_t i = 1; i < run->n; i++)
		if (compare(&run->list[i - 1], &run->list[i]) > 0) {
			qsort(run->list, run->n, sizeof(*run->list), compare);
			return;
		}
}

static bool is_same_line(const struct line_row *left, const struct line_row *right)
{
	return left->line == right->line && left->file == right->file &&
	       left->column == right->column;
}

/* Keeps the last row of an address, and drops rows equal to the previous one. */
static void add(struct line_table *table, struct line_row row)
{
	if (table->n && table->rows[table->n - 1].offset == row.offset)
		table->n--;
	if (!table->n || !is_same_line(&table->rows[table->n - 1], &row))
		table->rows[table->n++] = row;
}

static int keep_rows(struct line_table *table, struct line_run *run)
{
	static const struct line_row nothing = { .file = LINE_FILE_NONE };

	if (!run->n)
		return 0;
	sort(run);
	table->base = run->list[0].address;
	if (run->list[run->n - 1].address - table->base > UINT32_MAX)
		return -EBADMSG;
	table->rows = calloc(run->n, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < run->n; i++) {
		const struct made_row *made = &run->list[i];
		struct line_row row = { 0, made->line, made->file, made->column };

		if (made->is_end)
			row = nothing;
		row.offset = made->address - table->base;
		add(table, row);
	}
	GROWING_LIST_TRIM(table->rows, table->n);
	return 0;
}

int line_table_init(struct line_table *table, const void *program, size_t size,
		    const struct interval_map *code)
{
	const uint8_t *bytes = program;
	struct line_run run = { .at = { bytes, bytes + size, false }, .code = code };
	_cleanup_free_ struct made_row *list = NULL;
	int r = run_program(&run);

	*table = (struct line_table){ 0 };
	list = run.list;
	if (r == 0)
		r = keep_rows(table, &run);
	return r;
}

void line_table_deinit(struct line_table *table)
{
	free(table->rows);
	*table = (struct line_table){ 0 };
}

const struct line_row *line_table_find(const struct line_table *table, uint64_t address)
{
	size_t low;
	const struct line_row *row;

	if (address < table->base)
		return NULL;
	low = BINARY_SEARCH(i, 0, table->n, table->rows[i].offset <= address - table->base);
	row = low ? &table->rows[low - 1] : NULL;
	return row && (row->line || row->file != LINE_FILE_NONE) ? row : NULL;
}
