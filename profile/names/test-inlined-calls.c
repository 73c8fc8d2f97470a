/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/names/inlined-calls.h"

enum {
	IMAGE = 7,
	PLACE = 0x100,
	OTHER = 0x200,
	FUNCTION = 1,
	FIRST = 10,
	FILE_NAME = 5,
	LINE = 100
};

static struct inlined_calls calls;

static int tear_down(void **state)
{
	inlined_calls_deinit(&calls);
	return 0;
}

/* Calls with names from `first` on, innermost first. */
static void add(uint64_t offset, uint32_t first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		inlined_calls_add(&calls, IMAGE, offset, first + i,
				  (struct source_line){ FILE_NAME, LINE + i });
}

static uint32_t take(uint64_t offset, uint32_t function)
{
	return inlined_calls_take(&calls, IMAGE, offset, function,
				  (struct source_line){ FILE_NAME, LINE - 1 });
}

static void test_a_list_begins_with_the_function(void **state)
{
	const struct source_line *lines;
	const uint32_t *names;
	uint32_t number;
	size_t n;

	add(PLACE, FIRST, 2);
	number = take(PLACE, FUNCTION);
	assert_int_not_equal(number, 0);
	names = inlined_calls_get(&calls, number, &n);
	assert_int_equal(n, 3);
	assert_int_equal(names[0], FUNCTION);
	assert_int_equal(names[1], FIRST + 1);
	assert_int_equal(names[2], FIRST);
	lines = inlined_calls_lines(&calls, number);
	assert_int_equal(lines[0].line, LINE - 1);
	assert_int_equal(lines[1].line, LINE + 1);
	assert_int_equal(lines[2].line, LINE);
	assert_int_equal(lines[2].file, FILE_NAME);
	assert_int_equal(take(PLACE, FUNCTION), 0); /* already taken */
}

static void test_equal_lists_are_one(void **state)
{
	uint32_t first, second, third;

	add(PLACE, FIRST, 2);
	first = take(PLACE, FUNCTION);
	add(OTHER, FIRST, 2);
	second = take(OTHER, FUNCTION);
	add(OTHER, FIRST, 2);
	third = take(OTHER, FUNCTION + 1);
	assert_int_equal(first, second);
	assert_int_not_equal(first, third);
	for (uint32_t i = 0; i < 1000; i++) {
		add(PLACE, FIRST + i, 3);
		assert_int_not_equal(take(PLACE, FUNCTION), first);
	}
	assert_int_equal(calls.n, 1002);
	assert_int_equal(calls.n_refused, 0);
}

static void test_calls_of_another_location_are_not_mixed(void **state)
{
	size_t n;

	add(PLACE, FIRST, 2);
	assert_int_equal(take(OTHER, FUNCTION), 0);
	assert_int_equal(calls.n_refused, 2);
	add(PLACE, FIRST, 2);
	add(OTHER, FIRST, 1);
	assert_int_equal(calls.n_refused, 4);
	inlined_calls_get(&calls, take(OTHER, FUNCTION), &n);
	assert_int_equal(n, 2);
}

static void test_too_many_calls_are_refused_together(void **state)
{
	add(PLACE, FIRST, INLINED_CALLS_MAX);
	assert_int_not_equal(take(PLACE, FUNCTION), 0);
	add(PLACE, FIRST, INLINED_CALLS_MAX + 1);
	assert_int_equal(take(PLACE, FUNCTION), 0);
	add(PLACE, FIRST, 100000);
	assert_int_equal(take(PLACE, FUNCTION), 0);
	assert_int_equal(calls.n_refused, INLINED_CALLS_MAX + 1 + 100000);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_teardown(function, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_list_begins_with_the_function),
		TEST(test_equal_lists_are_one),
		TEST(test_calls_of_another_location_are_not_mixed),
		TEST(test_too_many_calls_are_refused_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
