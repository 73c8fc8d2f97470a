/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
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

#include "common/file/file-state.h"

static char dir[64], path[80], other[80];
static int fd;
static struct stat before;

static void write_file(const char *at, const char *content)
{
	int file = open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(file, content, strlen(content)), strlen(content));
	close(file);
}

/* Restores the times, as cp -p, rsync -t or a forger does after writing. */
static void put_times_back(const char *at)
{
	const struct timespec times[] = { before.st_atim, before.st_mtim };

	assert_int_equal(utimensat(AT_FDCWD, at, times, 0), 0);
}

static int set_up(void **state)
{
	const struct timespec times[] = { { 1, 0 }, { 1, 0 } };

	strcpy(dir, "/tmp/stackpipe-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	write_file(path, "content");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(fstat(fd, &before), 0);
	return 0;
}

static int tear_down(void **state)
{
	close(fd);
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

/* Looks through the open descriptor, as a process does that has mapped the file. */
static bool may_differ(void)
{
	struct file_state then = file_state_of(&before), now;
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	now = file_state_of(&status);
	return file_state_may_differ(&then, &now);
}

static void test_an_untouched_file_is_unchanged(void **state)
{
	char byte;

	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	assert_false(may_differ());
}

static void test_same_size_and_time_with_new_content_differs(void **state)
{
	write_file(path, "CONTENT");
	put_times_back(path);
	assert_true(may_differ());
}

static void test_a_rewritten_file_differs(void **state)
{
	assert_int_equal(truncate(path, 0), 0);
	write_file(path, "CONTENT");
	put_times_back(path);
	assert_true(may_differ());
}

static void test_a_write_through_mmap_differs(void **state)
{
	int file = open(path, O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, 7, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	assert_ptr_not_equal(map, MAP_FAILED);
	map[0] = 'C';
	assert_int_equal(msync(map, 7, MS_SYNC), 0);
	munmap(map, 7);
	close(file);
	put_times_back(path);
	assert_true(may_differ());
}

static void test_a_write_through_a_hard_link_differs(void **state)
{
	assert_int_equal(link(path, other), 0);
	write_file(other, "CONTENT");
	put_times_back(other);
	assert_int_equal(unlink(other), 0);
	assert_true(may_differ());
}

static void test_a_write_after_unlink_differs(void **state)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	unlink(path);
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(write(file, "CONTENT", 7), 7);
	close(file);
	assert_int_equal(futimens(fd, (struct timespec[]){ before.st_atim, before.st_mtim }), 0);
	assert_true(may_differ());
}

/* Most temporary programs and libraries are deleted while in use. */
static void test_unlink_is_not_a_change(void **state)
{
	unlink(path);
	assert_false(may_differ());
}

static void test_replacing_a_file_does_not_change_the_old(void **state)
{
	write_file(other, "CONTENT");
	put_times_back(other);
	assert_int_equal(rename(other, path), 0);
	assert_false(may_differ());
}

static void test_future_mtime_does_not_hide_a_write(void **state)
{
	struct stat status = {
		.st_nlink = 1,
		.st_mtim = { 900, 0 },
		.st_ctim = { 7, 5 },
	};
	struct file_state file = file_state_of(&status);

	assert_int_equal(file_state_written(&file), 7000000005);
	status.st_mtim.tv_sec = 1;
	file = file_state_of(&status);
	assert_int_equal(file_state_written(&file), 7000000005);
	status.st_nlink = 0; /* its ctime may be the time of its deletion */
	file = file_state_of(&status);
	assert_int_equal(file_state_written(&file), 1000000000);
	file = (struct file_state){ .modified = 3 }; /* as in streams of older versions */
	assert_int_equal(file_state_written(&file), 3);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_an_untouched_file_is_unchanged),
		TEST(test_same_size_and_time_with_new_content_differs),
		TEST(test_a_rewritten_file_differs),
		TEST(test_a_write_through_mmap_differs),
		TEST(test_a_write_through_a_hard_link_differs),
		TEST(test_a_write_after_unlink_differs),
		TEST(test_unlink_is_not_a_change),
		TEST(test_replacing_a_file_does_not_change_the_old),
		TEST(test_future_mtime_does_not_hide_a_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
