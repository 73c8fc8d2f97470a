/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "formats/output.h"

enum { UNIT = 1000 };

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64], other[64];

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

static void write_file(const char *file, const char *text)
{
	FILE *out = fopen(file, "we");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static off_t size_of(const char *file)
{
	struct stat status;

	return stat(file, &status) < 0 ? -1 : status.st_size;
}

static void check_content(const char *file, const char *expected)
{
	char text[256] = "";
	FILE *in = fopen(file, "re");

	assert_non_null(in);
	assert_int_equal(fread(text, 1, sizeof(text) - 1, in), strlen(expected));
	assert_string_equal(text, expected);
	fclose(in);
}

/* Adds units of UNIT bytes that hold their number until one is refused; returns the error. */
static int add_units(struct output *output, unsigned int n)
{
	char unit[UNIT];

	for (unsigned int i = 0; i < n; i++) {
		int r;

		memset(unit, 'a' + i % 26, sizeof(unit));
		r = output_add(output, unit, sizeof(unit));
		if (r < 0)
			return r;
	}
	return output_flush(output);
}

/* Checks for whole units in order and nothing after them. */
static void check_whole_units(const char *file)
{
	_cleanup_file_ FILE *in = fopen(file, "re");
	off_t size = size_of(file);

	assert_int_equal(size % UNIT, 0);
	for (off_t i = 0; i < size / UNIT; i++) {
		char unit[UNIT];

		assert_int_equal(fread(unit, UNIT, 1, in), 1);
		for (int k = 0; k < UNIT; k++)
			assert_int_equal(unit[k], 'a' + i % 26);
	}
}

static void test_units_arrive_in_their_order(void **state)
{
	struct output output;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	assert_true(output.is_seekable);
	assert_int_equal(add_units(&output, 3000), 0); /* several buffers */
	assert_int_equal(output_position(&output), 3000 * UNIT);
	assert_int_equal(output_close(&output), 0);
	assert_int_equal(size_of(path), 3000 * UNIT);
	check_whole_units(path);
}

static void test_buffered_data_are_written_on_close(void **state)
{
	struct output output;
	struct stat status;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	assert_int_equal(output_add(&output, "text", 4), 0);
	assert_int_equal(size_of(path), 0);
	assert_int_equal(output_position(&output), 4);
	assert_int_equal(output_close(&output), 0);
	check_content(path, "text");
	stat(path, &status);
	assert_int_equal(status.st_mode & 07777, 0600);
}

static void test_very_many_small_units(void **state)
{
	struct output output;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	for (int i = 0; i < 3 * OUTPUT_UNITS_MAX + 5; i++)
		assert_int_equal(output_add(&output, "x", 1), 0);
	assert_int_equal(output_close(&output), 0);
	assert_int_equal(size_of(path), 3 * OUTPUT_UNITS_MAX + 5);
}

static void test_the_largest_unit_and_one_too_large(void **state)
{
	char *unit = calloc(1, OUTPUT_BUFFER + 1);
	struct output output;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	assert_int_equal(output_add(&output, unit, OUTPUT_BUFFER), 0);
	assert_int_equal(output_add(&output, unit, OUTPUT_BUFFER + 1), -EMSGSIZE);
	assert_int_equal(output_add(&output, unit, SIZE_MAX), -EMSGSIZE);
	assert_int_equal(output_close(&output), 0);
	assert_int_equal(size_of(path), OUTPUT_BUFFER);
	free(unit);
}

static void test_an_existing_file_is_not_touched(void **state)
{
	struct output output;

	write_file(path, "precious");
	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), -EEXIST);
	output_close(&output);
	check_content(path, "precious");
	assert_int_equal(symlink(path, other), 0);
	assert_int_equal(output_open(&output, other, OUTPUT_FILE_NEW), -EEXIST);
	output_close(&output);
	unlink(path); /* even a dangling link is not followed */
	assert_int_equal(output_open(&output, other, OUTPUT_FILE_NEW), -EEXIST);
	output_close(&output);
	assert_int_equal(size_of(path), -1);
}

static void test_a_replaced_file_is_another_file(void **state)
{
	struct output output;
	struct stat before, after;

	write_file(path, "precious");
	assert_int_equal(link(path, other), 0);
	stat(path, &before);
	assert_int_equal(output_open(&output, path, OUTPUT_FILE_REPLACE), 0);
	output_add(&output, "new", 3);
	output_note_content(&output);
	assert_int_equal(output_close(&output), 0);
	stat(path, &after);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_mode & 07777, 0600);
	check_content(path, "new");
	check_content(other, "precious");
}

static void test_a_link_is_replaced_not_followed(void **state)
{
	struct output output;

	write_file(path, "precious");
	assert_int_equal(symlink(path, other), 0);
	assert_int_equal(output_open(&output, other, OUTPUT_FILE_REPLACE), 0);
	output_add(&output, "new", 3);
	output_note_content(&output);
	assert_int_equal(output_close(&output), 0);
	check_content(path, "precious");
	check_content(other, "new");
}

static void test_replacing_a_missing_file_creates_it(void **state)
{
	struct output output;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_REPLACE), 0);
	assert_int_equal(output_close(&output), 0);
	assert_int_equal(size_of(path), 0);
}

static void test_a_directory_is_not_replaced(void **state)
{
	struct output output;

	assert_int_equal(output_open(&output, dir, OUTPUT_FILE_REPLACE), -EISDIR);
	output_close(&output);
	assert_int_equal(output_open(&output, dir, OUTPUT_FILE_NEW), -EISDIR);
	output_close(&output);
	snprintf(other, sizeof(other), "%s/nowhere/file", dir);
	assert_int_equal(output_open(&output, other, OUTPUT_FILE_NEW), -ENOENT);
	output_close(&output);
}

static void test_a_fifo_is_written_to(void **state)
{
	struct output output;
	char text[8] = "";
	int reader;

	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(output_open(&output, path, OUTPUT_FILE_REPLACE), 0);
	assert_false(output.is_seekable);
	output_add(&output, "text", 4);
	output_patch(&output, 0, "XX", 2); /* a pipe cannot be patched */
	assert_int_equal(output_close(&output), 0);
	assert_int_equal(read(reader, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	close(reader);
}

static void test_a_patch_overwrites_and_adds_nothing(void **state)
{
	struct output output;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	output_add(&output, "0123456789", 10);
	output_flush(&output);
	output_add(&output, "abc", 3);
	output_patch(&output, 4, "XY", 2);
	assert_int_equal(output_close(&output), 0);
	check_content(path, "0123XY6789abc");
}

/* Standard output opened for appending (>>), as by a shell: pwrite(2) would append. */
static void test_a_patch_of_an_appended_file_adds_nothing(void **state)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), kept;
	struct output output;

	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	output_open(&output, "-", OUTPUT_FILE_NEW);
	output_add(&output, "0123456789", 10);
	output_flush(&output);
	output_patch(&output, 0, "XY", 2);
	output_close(&output);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(fd);
	assert_int_equal(size_of(path), 10);
}

static void test_standard_output_stays_open(void **state)
{
	struct output output;
	int ends[2], kept;
	char text[8] = "";

	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	dup2(ends[1], STDOUT_FILENO);
	output_open(&output, "-", OUTPUT_FILE_NEW);
	output_add(&output, "text", 4);
	output_close(&output);
	assert_int_equal(write(STDOUT_FILENO, "!", 1), 1);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	assert_int_equal(read(ends[0], text, sizeof(text)), 5);
	assert_string_equal(text, "text!");
	close(ends[0]);
	close(ends[1]);
}

/* Limits that stop a write at every kind of position within a unit. */
static void test_a_file_over_its_limit_ends_at_a_whole_unit(void **state)
{
	static const rlim_t limits[] = {
		1, UNIT - 1, UNIT, UNIT + 1, 5 * UNIT + 7, OUTPUT_BUFFER, OUTPUT_BUFFER + 1, 1234567
	};
	struct rlimit kept, limit;

	getrlimit(RLIMIT_FSIZE, &kept);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct output output;
		int r, again;

		unlink(path);
		assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
		limit = (struct rlimit){ limits[i], kept.rlim_max };
		setrlimit(RLIMIT_FSIZE, &limit);
		r = add_units(&output, 3000);
		again = output_add(&output, "", 0) < 0 ? 0 : output_flush(&output);
		setrlimit(RLIMIT_FSIZE, &kept);
		assert_int_equal(r, -EFBIG);
		assert_int_equal(again, 0); /* data that failed is not kept */
		assert_int_equal(size_of(path), limits[i] / UNIT * UNIT);
		assert_int_equal(output_position(&output), size_of(path));
		check_whole_units(path);
		/* With room again, output continues after the last whole unit. */
		assert_int_equal(output_add(&output, "end", 3), 0);
		assert_int_equal(output_close(&output), 0);
		assert_int_equal(size_of(path), limits[i] / UNIT * UNIT + 3);
	}
}

/* Runs in a child with its own mount namespace; 2: mounting is not allowed. */
static int fill_a_tiny_file_system(void)
{
	struct output output;
	int r;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tiny", dir, "tmpfs", 0, "size=64k") < 0)
		return 2;
	if (output_open(&output, path, OUTPUT_FILE_NEW) < 0)
		return 1;
	r = add_units(&output, 3000);
	if (r != -ENOSPC || size_of(path) != 64 * 1024 / UNIT * UNIT)
		return 1;
	return output_close(&output) == 0 ? 0 : 1;
}

static void test_a_full_file_system_leaves_whole_units(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fill_a_tiny_file_system());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(status, 0);
}

static void test_a_device_error_is_reported(void **state)
{
	struct output output;

	assert_int_equal(output_open(&output, "/dev/full", OUTPUT_FILE_REPLACE), 0);
	assert_false(output.is_seekable);
	assert_int_equal(output_add(&output, "text", 4), 0);
	assert_int_equal(output_flush(&output), -ENOSPC);
	assert_int_equal(output_add(&output, "text", 4), 0);
	assert_int_equal(output_close(&output), -ENOSPC);
}

/* A mount point cannot be unlinked. */
static void mount_over_itself(void)
{
	write_file(path, "mounted");
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(path, path, NULL, MS_BIND, NULL) < 0)
		_exit(77);
}

static void test_an_unremovable_file_is_not_replaced(void **state)
{
	struct output output;
	pid_t child = fork();
	int status;

	if (child == 0) {
		mount_over_itself();
		if (output_open(&output, path, OUTPUT_FILE_REPLACE) < 0)
			_exit(1);
		output_note_content(&output);
		status = output_close(&output) == -EBUSY ? 0 : 2;
		wait(NULL); /* the process that keeps the name */
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
	check_content(path, "mounted");
	snprintf(other, sizeof(other), "%s/file.part", dir);
	check_content(other, "");
}

static void test_devices_are_writable_and_directories_are_not(void **state)
{
	assert_int_equal(output_file_check("/dev/null", OUTPUT_FILE_REPLACE), 0);
	assert_int_equal(output_file_check(dir, OUTPUT_FILE_REPLACE), -EISDIR);
	assert_int_equal(output_file_check(dir, OUTPUT_FILE_NEW),
			 -EISDIR); /* not -EEXIST: --force would not help */
}

static void test_standard_output_that_is_closed(void **state)
{
	struct output output;
	int kept, r;

	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	close(STDOUT_FILENO);
	r = output_open(&output, "-", OUTPUT_FILE_NEW);
	output_close(&output);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	assert_int_equal(r, -EBADF);
}

static bool seeking_fails;

off_t __real_lseek64(int fd, off_t offset, int whence);
off_t __wrap_lseek64(int fd, off_t offset, int whence);

off_t __wrap_lseek64(int fd, off_t offset, int whence)
{
	if (!seeking_fails)
		return __real_lseek64(fd, offset, whence);
	errno = EIO;
	return -1;
}

static void test_a_file_without_a_position_is_refused(void **state)
{
	struct output output;

	seeking_fails = true;
	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), -EIO);
	seeking_fails = false;
	output_close(&output);
}

/* Another process has set O_NONBLOCK; a child reads the other end. */
static void test_a_nonblocking_pipe_is_waited_for(void **state)
{
	struct output output;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	dup2(ends[1], output.fd);
	output.is_seekable = false;
	child = fork();
	if (child == 0) {
		char byte;
		int n = 0;

		close(ends[1]);
		close(output.fd);
		fcntl(ends[0], F_SETFL, 0);
		while (read(ends[0], &byte, 1) == 1)
			n++;
		_exit(n == 300 * UNIT ? 0 : 1);
	}
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(add_units(&output, 300), 0);
	assert_int_equal(output_close(&output), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_errors_of_the_last_writes_are_reported(void **state)
{
	struct output output;
	int fd;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	dup2(fd, output.fd);
	close(fd);
	assert_int_equal(output_patch(&output, 0, "XY", 2), -EBADF);
	close(output.fd);
	assert_int_equal(output_close(&output), -EBADF);
}

static void test_a_unit_is_filled_in_place(void **state)
{
	struct output output;
	int error;
	char *at;

	assert_int_equal(output_open(&output, path, OUTPUT_FILE_NEW), 0);
	at = output_reserve(&output, 100, &error);
	assert_non_null(at);
	assert_int_equal(error, 0);
	memcpy(at, "text", 4);
	output_commit(&output, 4);			       /* less than was reserved */
	assert_non_null(output_reserve(&output, 100, &error)); /* never committed */
	assert_int_equal(output_close(&output), 0);
	check_content(path, "text");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_units_arrive_in_their_order),
		TEST(test_buffered_data_are_written_on_close),
		TEST(test_very_many_small_units),
		TEST(test_the_largest_unit_and_one_too_large),
		TEST(test_an_existing_file_is_not_touched),
		TEST(test_a_replaced_file_is_another_file),
		TEST(test_a_link_is_replaced_not_followed),
		TEST(test_replacing_a_missing_file_creates_it),
		TEST(test_a_directory_is_not_replaced),
		TEST(test_a_fifo_is_written_to),
		TEST(test_a_patch_overwrites_and_adds_nothing),
		TEST(test_a_patch_of_an_appended_file_adds_nothing),
		TEST(test_standard_output_stays_open),
		TEST(test_a_file_over_its_limit_ends_at_a_whole_unit),
		TEST(test_a_full_file_system_leaves_whole_units),
		TEST(test_a_device_error_is_reported),
		TEST(test_an_unremovable_file_is_not_replaced),
		TEST(test_devices_are_writable_and_directories_are_not),
		TEST(test_standard_output_that_is_closed),
		TEST(test_a_file_without_a_position_is_refused),
		TEST(test_a_nonblocking_pipe_is_waited_for),
		TEST(test_errors_of_the_last_writes_are_reported),
		TEST(test_a_unit_is_filled_in_place),
	};

	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
