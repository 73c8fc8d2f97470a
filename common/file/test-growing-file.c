/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/file/growing-file.h"

static int fd;
static struct growing_file file;

static int set_up(void **state)
{
	fd = memfd_create("growing", MFD_CLOEXEC);
	file = (struct growing_file){ 0 };
	return fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	return close(fd);
}

static void append(const char *text)
{
	assert_int_equal(lseek(fd, 0, SEEK_END) >= 0, 1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void check_outcome(int outcome)
{
	uint64_t size;

	assert_int_equal(growing_file_check(&file, fd, &size), outcome);
	assert_int_equal(size, lseek(fd, 0, SEEK_END));
}

static void check_next(const char *text)
{
	char bytes[1024];
	size_t n;

	assert_int_equal(growing_file_read(&file, fd, bytes, sizeof(bytes), &n), 0);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(bytes, text, n);
}

static void test_each_byte_is_read_once(void **state)
{
	check_outcome(GROWING_FILE_OK);
	check_next("");
	append("one");
	check_outcome(GROWING_FILE_OK);
	check_next("one");
	check_next("");
	append("two");
	append("three");
	check_outcome(GROWING_FILE_OK);
	check_next("twothree");
	check_outcome(GROWING_FILE_OK);
}

static void test_a_file_that_became_shorter_begins_anew(void **state)
{
	append("one two three");
	check_next("one two three");
	assert_int_equal(ftruncate(fd, 3), 0);
	check_outcome(GROWING_FILE_E_ANEW);
	check_next("one");
	check_outcome(GROWING_FILE_OK);
	assert_int_equal(ftruncate(fd, 0), 0);
	check_outcome(GROWING_FILE_E_ANEW);
	check_next("");
}

static void test_a_rewritten_file_is_read_from_its_start(void **state)
{
	append("one two three");
	check_next("one two three");
	assert_int_equal(ftruncate(fd, 0), 0);
	append("four five six seven");
	check_outcome(GROWING_FILE_E_ANEW);
	check_next("four five six seven");
}

static void test_skipping_stops_at_the_end_of_the_file(void **state)
{
	uint64_t n;

	append("0123456789");
	assert_int_equal(growing_file_skip(&file, fd, 4, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(growing_file_skip(&file, fd, UINT64_MAX, &n), 0);
	assert_int_equal(n, 6);
	assert_int_equal(growing_file_skip(&file, fd, 1, &n), 0);
	assert_int_equal(n, 0);
	append("more");
	check_outcome(GROWING_FILE_OK);
	check_next("more");
	assert_int_equal(ftruncate(fd, 12), 0);
	assert_int_equal(growing_file_skip(&file, fd, 1, &n), 0);
	assert_int_equal(n, 0);
	check_outcome(GROWING_FILE_E_ANEW);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_each_byte_is_read_once),
		TEST(test_a_file_that_became_shorter_begins_anew),
		TEST(test_a_rewritten_file_is_read_from_its_start),
		TEST(test_skipping_stops_at_the_end_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
