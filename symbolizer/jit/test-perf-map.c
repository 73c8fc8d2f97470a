/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "symbolizer/jit/test-perf-map-find.h"

#define _cleanup_map_ _cleanup_(perf_map_deinit)

static void add(struct perf_map *map, const char *text)
{
	assert_int_equal(perf_map_add(map, text, strlen(text)), 0);
}

static void append(int fd, const char *text)
{
	assert_true(lseek(fd, 0, SEEK_END) >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void check(const struct perf_map *map, uint64_t address, const char *name)
{
	struct perf_map_entry entry;

	if (!name) {
		assert_false(perf_map_find(map, address, &entry));
		return;
	}
	assert_true(perf_map_find(map, address, &entry));
	assert_string_equal(entry.name, name);
	assert_true(address - entry.start < entry.size);
}

static void test_code_is_found_from_its_first_byte_to_its_last(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };
	struct perf_map_entry entry;

	add(&map, "7f0000001000 20 first\n7f0000001020 e0 second one, with blanks \n");
	check(&map, 0x7f0000000fff, NULL);
	check(&map, 0x7f0000001000, "first");
	check(&map, 0x7f000000101f, "first");
	check(&map, 0x7f0000001020, "second one, with blanks ");
	check(&map, 0x7f00000010ff, "second one, with blanks ");
	check(&map, 0x7f0000001100, NULL);
	assert_true(perf_map_find(&map, 0x7f0000001030, &entry));
	assert_int_equal(entry.start, 0x7f0000001020);
	assert_int_equal(entry.size, 0xe0);
}

static void test_the_last_of_two_entries_wins(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };

	add(&map, "1000 100 a\n1100 100 b\n1080 100 c\n1000 10 d\n3000 10 e\n2ff0 100 f\n");
	check(&map, 0x1000, "d");
	check(&map, 0x1010, "a");
	check(&map, 0x107f, "a");
	check(&map, 0x1080, "c");
	check(&map, 0x117f, "c");
	check(&map, 0x1180, "b");
	check(&map, 0x3008, "f");
}

static void test_numbers_may_be_written_in_any_way(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };

	add(&map, "0xABC0 0X10 upper\n0000000000000000dEf0  00010   blanks\n"
		  "ffffffffffffff00 ff end\n");
	check(&map, 0xabc0, "upper");
	check(&map, 0xdef0, "blanks");
	check(&map, 0xfffffffffffffffe, "end");
	assert_int_equal(map.n_bad_lines, 0);
}

static void test_invalid_lines_are_counted(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"1000",
		"1000 ",
		"1000 10",
		"1000 10 ",
		"1000 10  ",
		" 1000 10 blank",
		"1000\t10\ttabs",
		"1000 0 nothing",
		"1000 -10 negative",
		"1000 1g0 letter",
		"0x 10 no digit",
		"1000 0x nothing behind x",
		"10000000000000000 10 too large",
		"1000 10000000000000000 too large",
		"ffffffffffffff00 101 behind the end",
		"JIT code:",
	};
	_cleanup_map_ struct perf_map map = { 0 };
	size_t n = sizeof(lines) / sizeof(lines[0]);

	for (size_t i = 0; i < n; i++) {
		add(&map, lines[i]);
		add(&map, "\n");
		assert_int_equal(map.n_bad_lines, i + 1);
	}
	assert_int_equal(map.code.n, 0);
	add(&map, "1000 10 good\n");
	check(&map, 0x1000, "good");
}

static void test_a_line_waits_until_it_is_whole(void **state)
{
	static const char text[] = "1000 10 name\n2000 20 another name\n";
	_cleanup_map_ struct perf_map map = { 0 };

	for (size_t i = 0; i < strlen("1000 10 name"); i++) {
		assert_int_equal(perf_map_add(&map, text + i, 1), 0);
		check(&map, 0x1000, NULL);
	}
	assert_int_equal(perf_map_add(&map, text + 12, 3), 0);
	check(&map, 0x1000, "name");
	add(&map, text + 15);
	check(&map, 0x2000, "another name");
	assert_int_equal(map.n_bad_lines, 0);
}

static void test_names_keep_text_after_a_zero_byte(void **state)
{
	static const char text[] = "1000 10 before\0behind\n2000 10 \33[31mred\n";
	_cleanup_map_ struct perf_map map = { 0 };

	assert_int_equal(perf_map_add(&map, text, sizeof(text) - 1), 0);
	check(&map, 0x1000, "before?behind");
	check(&map, 0x2000, "\33[31mred"); /* printing must escape it */
}

static void test_long_names_are_cut(void **state)
{
	static char name[3 * PERF_MAP_LINE_MAX];
	_cleanup_map_ struct perf_map map = { 0 };
	struct perf_map_entry entry;

	memset(name, 'x', sizeof(name) - 1);
	for (size_t n_pieces = 1; n_pieces <= 3; n_pieces++) { /* in one or more pieces */
		add(&map, "1000 10 ");
		for (size_t i = 0; i < n_pieces; i++)
			add(&map, name);
		add(&map, "\n2000 10 next\n");
		assert_true(perf_map_find(&map, 0x1000, &entry));
		assert_int_equal(strlen(entry.name), PERF_MAP_NAME_MAX);
		check(&map, 0x2000, "next");
		assert_int_equal(map.n_cut_names, n_pieces);
	}
	name[PERF_MAP_NAME_MAX] = 0;
	add(&map, "3000 10 ");
	add(&map, name);
	add(&map, "\n");
	check(&map, 0x3000, name);
	assert_int_equal(map.n_cut_names, 3);
}

static void test_a_file_is_read_as_it_grows(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };
	_cleanup_fd_ int fd = memfd_create("map", MFD_CLOEXEC);

	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	append(fd, "1000 10 first\n2000 1");
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	check(&map, 0x1000, "first");
	check(&map, 0x2000, NULL);
	append(fd, "0 second\n1000 10 third\n");
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	check(&map, 0x1000, "third");
	check(&map, 0x2000, "second");
	assert_int_equal(map.code.n, 3);
	assert_int_equal(map.n_anew, 0);
}

/* Until the whole file is read, the order of entries in time is unknown. */
static void test_a_file_is_read_in_pieces(void **state)
{
	enum { PIECE = 1 << 16, LINES = 40000 };
	_cleanup_map_ struct perf_map map = { 0 };
	_cleanup_fd_ int fd = memfd_create("map", MFD_CLOEXEC);
	char line[64];
	size_t n = 1;

	for (unsigned int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "%x 10 made-%u\n", 0x1000 + i * 16, i);
		append(fd, line);
	}
	append(fd, "1000 10 last\n");
	for (; perf_map_read(&map, fd, PIECE) == 0 && map.is_behind; n++) {
		assert_int_equal(map.size, n * PIECE);
		assert_int_equal(map.n_readings, 0);
	}
	assert_in_range(n, 10, 20);
	assert_int_equal(map.code.n, LINES + 1);
	assert_int_equal(map.n_readings, 1);
	check(&map, 0x1000, "last");
	check(&map, 0x1010, "made-1");
	assert_int_equal(map.n_bad_lines, 0);
}

static void test_a_rewritten_file_is_read_again(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };
	_cleanup_fd_ int fd = memfd_create("map", MFD_CLOEXEC);

	append(fd, "1000 10 first\n2000 10 second\nfff");
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, "3000 10 third\n");
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	assert_int_equal(map.n_anew, 1);
	assert_int_equal(map.n_bad_lines, 0);
	check(&map, 0x1000, NULL);
	check(&map, 0x3000, "third");
}

static void test_an_oversized_file_has_no_names(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };
	_cleanup_fd_ int fd = memfd_create("map", MFD_CLOEXEC);

	append(fd, "1000 10 first\n");
	assert_int_equal(ftruncate(fd, PERF_MAP_SIZE_MAX - 1), 0); /* a line of zero bytes */
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	check(&map, 0x1000, "first");
	append(fd, "\n2000 10 behind\n");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
		assert_int_equal(map.n_refused_bytes, strlen("\n2000 10 behind\n"));
		check(&map, 0x1000, NULL);
		check(&map, 0x2000, NULL);
	}
	assert_int_equal(ftruncate(fd, 14), 0);
	assert_int_equal(perf_map_read(&map, fd, UINT64_MAX), 0);
	check(&map, 0x1000, "first");
}

/* An older entry might name code that newer code has replaced. */
static void test_the_oldest_entries_go_at_the_limit(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };
	char line[32];

	for (uint64_t i = 0; i < PERF_MAP_ENTRIES_MAX; i++) {
		sprintf(line, "%" PRIx64 " 10 %" PRIx64 "\n", 0x1000 + i * 0x10, i);
		add(&map, line);
	}
	check(&map, 0x1000, "0");
	check(&map, 0x1000 + (PERF_MAP_ENTRIES_MAX - 1) * 0x10ULL, "7ffff");
	add(&map, "1000 10 new\n");
	check(&map, 0x1000, "new");
	check(&map, 0x1010, NULL);
	assert_int_equal(map.n_forgotten_entries, PERF_MAP_ENTRIES_MAX);
}

static void test_the_oldest_names_go_at_the_limit(void **state)
{
	static char line[PERF_MAP_NAME_MAX + 32];
	_cleanup_map_ struct perf_map map = { 0 };
	uint64_t n = NAME_STORE_MAX / (PERF_MAP_NAME_MAX + 1);

	for (uint64_t i = 0; i <= n; i++) {
		int used = sprintf(line, "%" PRIx64 " 10 ", 0x1000 + i * 0x10);

		memset(line + used, 'x', PERF_MAP_NAME_MAX);
		strcpy(line + used + PERF_MAP_NAME_MAX, "\n");
		add(&map, line);
	}
	assert_int_equal(map.n_forgotten_entries, n);
	assert_int_equal(map.code.n, 1);
	check(&map, 0x1000, NULL);
}

static void test_a_special_file_is_an_error(void **state)
{
	_cleanup_map_ struct perf_map map = { 0 };
	int fds[2];

	assert_int_equal(perf_map_read(&map, -1, UINT64_MAX) < 0, 1);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(perf_map_read(&map, fds[0], UINT64_MAX) < 0, 1);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code_is_found_from_its_first_byte_to_its_last),
		cmocka_unit_test(test_the_last_of_two_entries_wins),
		cmocka_unit_test(test_numbers_may_be_written_in_any_way),
		cmocka_unit_test(test_invalid_lines_are_counted),
		cmocka_unit_test(test_a_line_waits_until_it_is_whole),
		cmocka_unit_test(test_names_keep_text_after_a_zero_byte),
		cmocka_unit_test(test_long_names_are_cut),
		cmocka_unit_test(test_a_file_is_read_as_it_grows),
		cmocka_unit_test(test_a_file_is_read_in_pieces),
		cmocka_unit_test(test_a_rewritten_file_is_read_again),
		cmocka_unit_test(test_an_oversized_file_has_no_names),
		cmocka_unit_test(test_the_oldest_entries_go_at_the_limit),
		cmocka_unit_test(test_the_oldest_names_go_at_the_limit),
		cmocka_unit_test(test_a_special_file_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
