/* SPDX-License-Identifier: GPL-3.0-or-later */
/* V8's own table tells where its builtins are, if it describes all of its code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#include "live-unwinder/v8/v8-functions.h"

enum { ALIGNMENT = 64 };

static struct v8_functions *read_file(const char *path)
{
	struct v8_functions *functions;
	struct elf_image elf;

	assert_int_equal(elf_image_open_descriptor(open(path, O_RDONLY | O_CLOEXEC), 0, &elf),
			 ELF_IMAGE_OK);
	functions = v8_functions_read(&elf);
	elf_image_close(&elf);
	return functions;
}

static void check_functions(const char *path)
{
	struct v8_functions *functions = read_file(path);

	assert_non_null(functions);
	assert_int_equal(functions->n, 2); /* not what makes the frame of another one */
	assert_int_equal(functions->list[0].offset % ALIGNMENT, 0);
	assert_int_equal(functions->list[0].size, 60);
	assert_int_equal(functions->list[1].offset, functions->list[0].offset + ALIGNMENT);
	assert_int_equal(functions->list[1].size, 64);
	v8_functions_free(functions);
}

static void test_tables_of_two_forms(void **state)
{
	const char *const *paths = *state;

	check_functions(paths[1]);
	check_functions(paths[2]);
}

static void test_a_table_with_a_gap_is_none(void **state)
{
	const char *const *paths = *state;

	assert_null(read_file(paths[3]));
}

static void test_other_files_have_none(void **state)
{
	assert_null(read_file("/proc/self/exe"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_tables_of_two_forms, argv),
		cmocka_unit_test_prestate(test_a_table_with_a_gap_is_none, argv),
		cmocka_unit_test(test_other_files_have_none),
	};

	return argc == 4 ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
