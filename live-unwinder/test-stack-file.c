/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "live-unwinder/stack-file.h"

enum {
	SIZE = 256 * 1024,
	IMAGE = 7,
	STACK = 2048,
};

static const struct stage_program program = { .name = "test", .role = STAGE_FILTER };
static struct stage stage;
static struct image_table images;
static struct stack_file recording;
static char directory[64], path[128];
static char *content;

/* Every word holds its own offset. */
static void write_file(const char *magic)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (size_t at = 0; at < SIZE; at += sizeof(at))
		memcpy(content + at, &at, sizeof(at));
	memcpy(content, magic, strlen(magic));
	assert_int_equal(write(fd, content, SIZE), SIZE);
	close(fd);
}

static void report(enum wire_image_kind kind)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	const struct wire_image image = {
		.image = IMAGE,
		.kind = kind,
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.inode = status.st_ino,
		.path = { path, strlen(path) },
	};
	const struct wire_image_state state = {
		.image = IMAGE,
		.status = WIRE_image_status_OPEN,
		.size = status.st_size,
		.modified = clock_nanoseconds(status.st_mtim),
	};

	assert_int_equal(image_table_add(&images, &image), 0);
	image_table_set_state(&images, &state);
}

static int set_up(void **state)
{
	stage = (struct stage){ .program = &program, .quiet = true };
	strcpy(directory, "/tmp/stackpipe-test-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/perf.data", directory);
	content = malloc(SIZE);
	assert_non_null(content);
	write_file("PERFILE2");
	stack_file_init(&recording, &stage, &images);
	return 0;
}

static int tear_down(void **state)
{
	stack_file_deinit(&recording);
	image_table_deinit(&images);
	counters_deinit(&stage.counters);
	free(content);
	unlink(path);
	rmdir(directory);
	return 0;
}

static bool fetch(uint64_t offset, uint64_t size, struct wire_sample *ret)
{
	*ret = (struct wire_sample){
		.stack_image = IMAGE,
		.stack_offset = offset,
		.stack_size = size,
	};
	return stack_file_fetch(&recording, ret);
}

static void assert_has(uint64_t offset, uint64_t size)
{
	struct wire_sample sample;

	assert_true(fetch(offset, size, &sample));
	assert_int_equal(sample.stack.size, size);
	assert_memory_equal(sample.stack.data, content + offset, size);
	assert_int_equal(sample.stack_image, 0); /* by now an ordinary sample */
}

static void assert_has_not(uint64_t offset, uint64_t size)
{
	struct wire_sample sample;

	assert_false(fetch(offset, size, &sample));
	assert_int_equal(sample.stack_image, IMAGE);
	assert_int_equal(sample.stack.size, 0);
}

static void test_stacks_are_those_of_the_file(void **state)
{
	report(WIRE_image_kind_RECORDING);
	for (uint64_t offset = 0; offset < SIZE; offset += STACK)
		assert_has(offset, STACK);
	assert_has(SIZE - STACK, STACK);
	assert_has(8, STACK); /* backwards */
	assert_has(SIZE / 2 + 8, STACK_FILE_STACK_MAX);
	assert_has(SIZE, 0);
}

static void test_a_stack_is_not_beyond_its_file(void **state)
{
	report(WIRE_image_kind_RECORDING);
	assert_has_not(SIZE - STACK + 8, STACK);
	assert_has_not(SIZE, 8);
	assert_has_not(SIZE + 8, 0);
	assert_has_not(UINT64_MAX - 7, STACK);
	assert_has_not(UINT64_MAX - 7, 8);
	assert_has_not(0, STACK_FILE_STACK_MAX + 8);
	assert_has_not(0, UINT64_MAX);
	assert_has_not(4, STACK);
}

static void test_only_recordings_hold_stacks(void **state)
{
	assert_has_not(0, STACK); /* image not reported */
	report(WIRE_image_kind_FILE);
	assert_has_not(0, STACK);
}

static void test_only_perf_files_are_accepted(void **state)
{
	write_file("PERFILE3");
	report(WIRE_image_kind_RECORDING);
	assert_has_not(0, STACK);
}

static void test_a_short_file(void **state)
{
	assert_int_equal(truncate(path, 8), 0);
	report(WIRE_image_kind_RECORDING);
	assert_has_not(0, 8);
}

static void test_another_content(void **state)
{
	const struct timespec times[] = { { 0, UTIME_OMIT }, { 1, 0 } };

	report(WIRE_image_kind_RECORDING);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_has_not(0, STACK);
}

static void test_another_file(void **state)
{
	char other[160];
	struct stat status;

	report(WIRE_image_kind_RECORDING);
	assert_int_equal(stat(path, &status), 0);
	snprintf(other, sizeof(other), "%s.old", path);
	assert_int_equal(rename(path, other), 0);
	write_file("PERFILE2");
	const struct timespec times[] = { status.st_atim, status.st_mtim };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_has_not(0, STACK);
	unlink(other);
}

static void test_a_file_writable_by_others_is_refused(void **state)
{
	assert_int_equal(chmod(path, 0622), 0);
	report(WIRE_image_kind_RECORDING);
	assert_has_not(0, STACK);
}

/* A failed open is not repeated for every sample. */
static void test_a_failure_is_cached(void **state)
{
	report(WIRE_image_kind_RECORDING);
	assert_int_equal(chmod(path, 0622), 0);
	assert_has_not(0, STACK);
	assert_int_equal(chmod(path, 0600), 0);
	assert_has_not(0, STACK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_stacks_are_those_of_the_file),
		TEST(test_a_stack_is_not_beyond_its_file),
		TEST(test_only_recordings_hold_stacks),
		TEST(test_only_perf_files_are_accepted),
		TEST(test_a_short_file),
		TEST(test_another_content),
		TEST(test_another_file),
		TEST(test_a_file_writable_by_others_is_refused),
		TEST(test_a_failure_is_cached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
