/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/long-name.h"

enum { SIZE = 3 * LONG_NAME_MAX };

static char name[SIZE + 1], room[LONG_NAME_MAX + 1], other_room[LONG_NAME_MAX + 1];

static int fill(void **state)
{
	memset(name, 'x', SIZE);
	name[SIZE] = 0;
	return 0;
}

static void test_a_name_that_fits_is_unchanged(void **state)
{
	name[LONG_NAME_MAX] = 0;
	assert_ptr_equal(long_name_fit(name, 0, room), name);
	assert_false(long_name_is_cut(name, LONG_NAME_MAX));
}

static void test_a_longer_name_is_marked(void **state)
{
	assert_ptr_equal(long_name_fit(name, 0, room), room);
	assert_int_equal(strlen(room), LONG_NAME_MAX);
	assert_memory_equal(room, name, LONG_NAME_MAX - 20);
	assert_memory_equal(room + LONG_NAME_MAX - 20, "…#", 4);
	assert_true(long_name_is_cut(room, LONG_NAME_MAX));
}

static void test_names_differing_past_the_cut_stay_distinct(void **state)
{
	long_name_fit(name, 0, room);
	name[SIZE - 1] = 'y';
	long_name_fit(name, 0, other_room);
	assert_string_not_equal(room, other_room);
	name[SIZE - 1] = 'x';
	long_name_fit(name, 0, other_room);
	assert_string_equal(room, other_room);
	long_name_fit(name, 1, other_room);
	assert_string_not_equal(room, other_room);
}

static void test_no_character_is_cut_in_two(void **state)
{
	for (size_t first = 0; first < 4; first++) {
		memset(name, 'x', SIZE);
		for (size_t i = first; i + 3 <= SIZE; i += 3)
			memcpy(name + i, "…", 3);
		long_name_fit(name, 0, room);
		for (size_t i = first; strncmp(room + i, "…#", 4); i += 3)
			assert_memory_equal(room + i, "…", 3);
		assert_true(long_name_is_cut(room, strlen(room)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_name_that_fits_is_unchanged, fill),
		cmocka_unit_test_setup(test_a_longer_name_is_marked, fill),
		cmocka_unit_test_setup(test_names_differing_past_the_cut_stay_distinct, fill),
		cmocka_unit_test_setup(test_no_character_is_cut_in_two, fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
