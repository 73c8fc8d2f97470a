/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/file/output-file.h"

enum { SOMEBODY = 65534, ANOTHER = 65533 };

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64], old[64], precious[64];

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 01777) < 0) /* as for /tmp */
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(old, sizeof(old), "%s/file.old", dir);
	snprintf(precious, sizeof(precious), "%s/precious", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	unlink(old);
	unlink(precious);
	return rmdir(dir);
}

static void write_file(const char *file, const char *text)
{
	_cleanup_file_ FILE *out = fopen(file, "we");

	assert_non_null(out);
	fputs(text, out);
}

static void check_content(const char *file, const char *text)
{
	_cleanup_file_ FILE *in = fopen(file, "re");
	char line[64] = "";

	assert_non_null(in);
	assert_true(fgets(line, sizeof(line), in) || !*text);
	assert_string_equal(line, text);
}

/* Another user's link. */
static void put_link(const char *target)
{
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(lchown(path, SOMEBODY, SOMEBODY), 0);
}

static void check_written(int fd)
{
	struct stat status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "new", 3), 3);
	close(fd);
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(status.st_mode & 07777, 0600);
	check_content(path, "new");
}

static void test_links_of_others_are_not_followed(void **state)
{
	if (geteuid() != 0)
		skip();
	write_file(precious, "precious");
	put_link(precious);
	assert_int_equal(output_file_open(path, OUTPUT_FILE_NEW), -EEXIST);
	check_written(output_file_open(path, OUTPUT_FILE_REPLACE));
	check_content(precious, "precious");
}

/* A sticky directory prevents its removal, so it must not be written through either. */
static void test_unremovable_links_are_not_followed(void **state)
{
	int status, is_kept;
	pid_t child;

	if (geteuid() != 0)
		skip();
	write_file(precious, "precious");
	assert_int_equal(chmod(precious, 0666), 0);
	put_link(precious);
	child = fork();
	if (child == 0) {
		if (setresuid(ANOTHER, ANOTHER, ANOTHER) < 0)
			_exit(1);
		is_kept = output_file_open(path, OUTPUT_FILE_REPLACE) == -EPERM;
		_exit(is_kept ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	check_content(precious, "precious");
}

static void test_a_link_to_a_device_is_not_a_device(void **state)
{
	assert_int_equal(symlink("/dev/full", path), 0);
	check_written(output_file_open(path, OUTPUT_FILE_REPLACE));
}

/* As the shell's process substitution names them. */
static void test_own_descriptors_are_written_to(void **state)
{
	static const char *const formats[] = { "/dev/fd/%d", "/proc/self/fd/%d" };
	char name[32], byte;
	int pipes[2], fd;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(pipe(pipes), 0);
		snprintf(name, sizeof(name), formats[i], pipes[1]);
		assert_int_equal(output_file_check(name, OUTPUT_FILE_REPLACE), 0);
		fd = output_file_open(name, OUTPUT_FILE_REPLACE);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "x", 1), 1);
		assert_int_equal(read(pipes[0], &byte, 1), 1);
		close(fd);
		close(pipes[0]);
		close(pipes[1]);
	}
}

static void test_names_near_those_of_descriptors(void **state)
{
	assert_int_equal(output_file_open("/dev/fd/1x", OUTPUT_FILE_REPLACE), -ENOENT);
	assert_int_equal(output_file_open("/dev/fd/99999", OUTPUT_FILE_REPLACE), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_links_of_others_are_not_followed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_unremovable_links_are_not_followed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_link_to_a_device_is_not_a_device, set_up,
						tear_down),
		cmocka_unit_test(test_own_descriptors_are_written_to),
		cmocka_unit_test(test_names_near_those_of_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
