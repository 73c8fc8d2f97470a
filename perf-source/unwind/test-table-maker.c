/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables from the helper are those that this process compiles; damaged files have none. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/elf/elf-image.h"
#include "common/unwind/unwind-source.h"
#include "perf-source/unwind/table-maker.h"

static const char own_program[] = "/proc/self/exe";

static int open_own(void)
{
	int fd = open(own_program, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int make_file(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static int wait_for(struct table_maker *maker)
{
	int r;

	while ((r = table_maker_look(maker)) == -EAGAIN)
		poll(NULL, 0, 1);
	return r;
}

static void check_own(const struct unwind_table *made)
{
	struct unwind_bytes bytes;
	struct unwind_table own;
	struct elf_image elf;

	assert_int_equal(elf_image_open_descriptor(open_own(), 0, &elf), ELF_IMAGE_OK);
	assert_int_equal(unwind_bytes_read(&elf, &bytes), 0);
	assert_int_equal(unwind_table_compile(&bytes.source, &own), 0);
	assert_non_null(made->header);
	assert_int_equal(made->size, own.size);
	assert_memory_equal(made->header, own.header, own.size);
	unwind_table_deinit(&own);
	unwind_bytes_deinit(&bytes);
	elf_image_close(&elf);
}

static void test_tables_are_of_their_files(void **state)
{
	static const char garbage[] = "\177ELF and nothing else";
	int files[] = { open_own(), make_file(garbage, sizeof(garbage)), make_file("", 0),
			open_own() };
	struct table_maker maker;

	assert_int_equal(table_maker_begin(&maker, files, 4), 0);
	assert_int_equal(wait_for(&maker), 0);
	check_own(&maker.tables[0]);
	assert_null(maker.tables[1].header);
	assert_null(maker.tables[2].header);
	check_own(&maker.tables[3]);
	table_maker_end(&maker);
	assert_int_equal(maker.pid, 0);
	for (size_t i = 0; i < 4; i++)
		close(files[i]);
}

/* It is killed where it writes: no file may have a byte. */
static void test_a_helper_that_dies_has_none(void **state)
{
	int file = open_own();
	struct table_maker maker;
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(table_maker_begin(&maker, &file, 1), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(wait_for(&maker), -EIO);
	table_maker_end(&maker);
	close(file);
}

/* What the helper writes may be anything. */
static void check_output(const void *bytes, size_t size, int expected)
{
	int file = open_own();
	struct table_maker maker;

	assert_int_equal(table_maker_begin(&maker, &file, 1), 0);
	close(maker.output);
	maker.output = make_file(bytes, size);
	assert_int_equal(wait_for(&maker), expected);
	if (expected == 0)
		assert_null(maker.tables[0].header);
	table_maker_end(&maker);
	close(file);
}

static void test_output_may_be_anything(void **state)
{
	static const uint64_t none[] = { 0 }, too_long[] = { 16, 0 }, huge[] = { UINT64_MAX, 0 },
			      wrong[] = { 24, UINT64_MAX, UINT64_MAX, UINT64_MAX };

	check_output(none, 0, -EFBIG);
	check_output(none, 4, -EBADMSG);
	check_output(none, sizeof(none), 0);
	check_output(too_long, sizeof(too_long), -EBADMSG);
	check_output(huge, sizeof(huge), -EBADMSG);
	check_output(wrong, sizeof(wrong), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_are_of_their_files),
		cmocka_unit_test(test_a_helper_that_dies_has_none),
		cmocka_unit_test(test_output_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
