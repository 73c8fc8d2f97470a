/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/file/map-pass.h"

enum { STEP = 4096 };

#define SIZE ((size_t)MAP_PASS_PIECE * 4)

static unsigned char *map;

static int set_up(void **state)
{
	int fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, SIZE) < 0 || pwrite(fd, "x", 1, STEP) != 1)
		return -1;
	map = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	return map == MAP_FAILED ? -1 : close(fd);
}

static int tear_down(void **state)
{
	return munmap(map, SIZE);
}

/* Bytes of all files and shared memory that are mapped and in memory (proc(5)). */
static size_t get_resident(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	size_t n = 0;

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%*u %*u %zu", &n), 1);
	fclose(statm);
	return n * sysconf(_SC_PAGESIZE);
}

/* Reads a page in each step, and returns the most that was in memory meanwhile. */
static size_t read_all(struct map_pass *pass)
{
	size_t before = get_resident(), most = before;

	for (size_t at = 0; at < SIZE; at += STEP) {
		size_t now;

		assert_int_equal(map[at], at == STEP ? 'x' : 0);
		if (pass)
			map_pass_come_to(pass, map, at);
		now = at % (MAP_PASS_PIECE / 8) ? 0 : get_resident();
		most = now > most ? now : most;
	}
	return most - before;
}

static void test_what_was_read_is_let_go(void **state)
{
	struct map_pass pass = { 0 };

	assert_true(read_all(&pass) <= 2 * (size_t)MAP_PASS_PIECE);
}

static void test_else_all_stays(void **state)
{
	assert_true(read_all(NULL) > 3 * (size_t)MAP_PASS_PIECE);
}

static void test_reading_may_go_back(void **state)
{
	struct map_pass pass = { 0 };

	map_pass_come_to(&pass, map, SIZE);
	map_pass_come_to(&pass, map, STEP);
	assert_int_equal(pass.kept_from, 0);
	assert_int_equal(map[STEP], 'x');
	assert_true(read_all(&pass) <= 2 * (size_t)MAP_PASS_PIECE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_was_read_is_let_go, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_else_all_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reading_may_go_back, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
