/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Line programs of a real program (make-inlines; the arguments are its files): every row must equal
 * libdw's, and damaged programs must not cause reads outside of them.
 */
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdw.h>

#include "common/base/cleanup.h"
#include "symbolizer/dwarf/debug-sections.h"
#include "symbolizer/dwarf/line-table.h"

static char **files;
static int n_files;

struct program {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	struct interval_map code;
	const Elf_Data *lines;
};

static void close_program(struct program *program)
{
	interval_map_deinit(&program->code);
	dwarf_end(program->dwarf);
	elf_end(program->elf);
	close(program->fd);
}

/* Some compilers may be missing. */
static bool open_program(const char *path, struct program *ret)
{
	*ret = (struct program){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (ret->fd < 0)
		return false;
	elf_version(EV_CURRENT);
	ret->elf = elf_begin(ret->fd, ELF_C_READ, NULL);
	ret->dwarf = dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL);
	assert_non_null(ret->dwarf);
	assert_int_equal(debug_sections_code(ret->elf, &ret->code), 0);
	ret->lines = debug_sections_lines(ret->elf);
	assert_non_null(ret->lines);
	return true;
}

static bool has_lines(Dwarf_Die *unit, Dwarf_Word *ret_offset)
{
	Dwarf_Attribute attribute;

	return dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), ret_offset) == 0;
}

static int make_table(const struct program *program, Dwarf_Word offset, struct line_table *ret)
{
	return line_table_init(ret, (const char *)program->lines->d_buf + offset,
			       program->lines->d_size - offset, &program->code);
}

static void check_address(const struct line_table *table, Dwarf_Die *unit, uint64_t address)
{
	const struct line_row *row = line_table_find(table, address);
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	Dwarf_Files *list;
	size_t file = 0;
	int number = 0, column = 0;

	assert_int_equal(row != NULL, line != NULL);
	if (!row)
		return;
	dwarf_lineno(line, &number);
	dwarf_linecol(line, &column);
	assert_int_equal(dwarf_line_file(line, &list, &file), 0);
	assert_int_equal(row->line, number);
	assert_int_equal(row->column, column);
	assert_int_equal(row->file, file);
}

static uint64_t address_of(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Addr address;

	assert_int_equal(dwarf_lineaddr(dwarf_onesrcline(lines, i), &address), 0);
	return address;
}

static bool ends(Dwarf_Lines *lines, size_t i)
{
	bool is_end;

	assert_int_equal(dwarf_lineendsequence(dwarf_onesrcline(lines, i), &is_end), 0);
	return is_end;
}

static size_t check_unit(const struct program *program, Dwarf_Die *unit)
{
	_cleanup_(line_table_deinit) struct line_table table = { 0 };
	Dwarf_Word offset;
	Dwarf_Lines *lines;
	size_t n, n_asked = 0;
	uint64_t end = UINT64_MAX;

	if (!has_lines(unit, &offset) || dwarf_getsrclines(unit, &lines, &n) != 0)
		return 0;
	assert_int_equal(make_table(program, offset, &table), 0);
	assert_true(table.n <= n);
	for (size_t i = 0; i + 1 < n; i++) {
		uint64_t address = address_of(lines, i), next = address_of(lines, i + 1);

		if (ends(lines, i))
			end = address;
		/* libdw extends rows without code at the end of a sequence past its end. */
		if (address == next || address == end ||
		    interval_map_find(&program->code, address) == INTERVAL_NONE)
			continue;
		check_address(&table, unit, address);
		check_address(&table, unit, next - 1);
		n_asked++;
	}
	return n_asked;
}

static void test_every_row_matches_libdw(void **state)
{
	size_t n_checked = 0;

	for (int i = 0; i < n_files; i++) {
		_cleanup_(close_program) struct program program = { .fd = -1 };
		Dwarf_CU *unit = NULL;
		Dwarf_Die die;
		size_t n = 0;

		if (!open_program(files[i], &program))
			continue;
		while (dwarf_get_units(program.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
			n += check_unit(&program, &die);
		assert_true(n > 100);
		n_checked++;
	}
	if (!n_checked)
		skip();
}

/* A copy of exact size of the first unit's line program. */
static char *copy_program(const struct program *program, size_t *ret_size)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Word offset;
	Dwarf_Die die;
	char *copy;

	do
		assert_int_equal(
			dwarf_get_units(program->dwarf, unit, &unit, NULL, NULL, &die, NULL), 0);
	while (!has_lines(&die, &offset));
	*ret_size = debug_sections_line_program_size(program->lines, offset);
	copy = malloc(*ret_size);
	assert_non_null(copy);
	memcpy(copy, (const char *)program->lines->d_buf + offset, *ret_size);
	return copy;
}

static void check_damaged(const char *bytes, size_t size, const struct interval_map *code)
{
	struct line_table table;
	int r = line_table_init(&table, bytes, size, code);

	assert_true(r == 0 || r == -EBADMSG);
	assert_true(r == 0 || table.n == 0);
	for (size_t i = 1; i < table.n; i++)
		assert_true(table.rows[i].offset > table.rows[i - 1].offset);
	line_table_find(&table, 0);
	line_table_find(&table, UINT64_MAX);
	line_table_deinit(&table);
}

/* ASan and valgrind detect reads past the end. */
static void test_damaged_programs_are_not_read_outside(void **state)
{
	enum { STEP = 7, HEADER = 64 };
	_cleanup_(close_program) struct program program = { .fd = -1 };
	_cleanup_free_ char *bytes = NULL;
	size_t size;

	if (!open_program(files[0], &program))
		skip();
	bytes = copy_program(&program, &size);
	for (size_t cut = 0; cut < size; cut += cut < HEADER ? 1 : STEP) {
		_cleanup_free_ char *piece = malloc(cut ? cut : 1);

		assert_non_null(piece);
		memcpy(piece, bytes, cut);
		check_damaged(piece, cut, &program.code);
	}
	for (size_t at = 0; at < size; at += at < HEADER ? 1 : STEP) {
		char byte = bytes[at];

		bytes[at] = 0xff;
		check_damaged(bytes, size, &program.code);
		bytes[at] = 0;
		check_damaged(bytes, size, &program.code);
		bytes[at] = byte;
	}
}

/* DWARF 4 without directories, files or standard opcodes; each special opcode makes a row. */
static int run_special_opcodes(size_t n, struct line_table *ret)
{
	static const unsigned char header[] = { 0, 0, 0, 0, 4,	  0,  8, 0, 0,
						0, 1, 1, 1, 0xfb, 14, 1, 0, 0 };
	const struct interval_map no_code = { 0 };
	_cleanup_free_ unsigned char *bytes = malloc(sizeof(header) + n);
	uint32_t length = sizeof(header) + n - sizeof(length);

	assert_non_null(bytes);
	memcpy(bytes, header, sizeof(header));
	memcpy(bytes, &length, sizeof(length));
	memset(bytes + sizeof(header), 0x20, n);
	return line_table_init(ret, bytes, sizeof(header) + n, &no_code);
}

static void test_the_number_of_rows_is_limited(void **state)
{
	struct line_table table;

	assert_int_equal(run_special_opcodes(LINE_ROWS_MAX, &table), 0);
	line_table_deinit(&table);
	assert_int_equal(run_special_opcodes(LINE_ROWS_MAX + 1, &table), -EFBIG);
	assert_int_equal(table.n, 0);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_row_matches_libdw),
		cmocka_unit_test(test_damaged_programs_are_not_read_outside),
		cmocka_unit_test(test_the_number_of_rows_is_limited),
	};

	if (argc < 2)
		return 77;
	files = argv + 1;
	n_files = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
