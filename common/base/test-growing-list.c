/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/binary-search.h"
#include "common/base/growing-list.h"

enum { ITEMS = 1000 };

static void test_added_items_are_kept(void **state)
{
	uint32_t *list = NULL;
	size_t n = 0;

	for (uint32_t i = 0; i < ITEMS; i++)
		assert_int_equal(GROWING_LIST_ADD(list, n, i), 0);
	assert_int_equal(n, ITEMS);
	GROWING_LIST_TRIM(list, n);
	for (uint32_t i = 0; i < ITEMS; i++)
		assert_int_equal(list[i], i);
	free(list);
}

static void test_room_doubles_when_it_is_used_up(void **state)
{
	char *list = NULL, *before;
	size_t n_allocated = 0;

	assert_int_equal(GROWING_LIST_RESERVE(list, n_allocated, 16, 17), 0);
	assert_int_equal(n_allocated, 32);
	before = list;
	assert_int_equal(GROWING_LIST_RESERVE(list, n_allocated, 16, 32), 0);
	assert_ptr_equal(list, before);
	assert_int_equal(GROWING_LIST_RESERVE(list, n_allocated, 16, 33), 0);
	assert_int_equal(n_allocated, 64);
	free(list);
}

static void test_extended_list_is_zero_at_its_end(void **state)
{
	uint64_t *list = NULL;
	size_t n = 0;

	assert_int_equal(GROWING_LIST_EXTEND(list, n, 3), 0);
	list[2] = 7;
	assert_int_equal(GROWING_LIST_EXTEND(list, n, ITEMS), 0);
	assert_int_equal(n, ITEMS);
	assert_int_equal(list[2], 7);
	for (size_t i = 3; i < ITEMS; i++)
		assert_int_equal(list[i], 0);
	free(list);
}

static void test_binary_search_finds_the_first(void **state)
{
	static const int list[] = { 1, 3, 3, 5, 9 };
	const size_t n = sizeof(list) / sizeof(list[0]);

	for (size_t from = 0; from <= n; from++)
		for (int wanted = 0; wanted <= 10; wanted++) {
			size_t expected = from;

			while (expected < n && list[expected] < wanted)
				expected++;
			assert_int_equal(BINARY_SEARCH(i, from, n, list[i] < wanted), expected);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added_items_are_kept),
		cmocka_unit_test(test_room_doubles_when_it_is_used_up),
		cmocka_unit_test(test_extended_list_is_zero_at_its_end),
		cmocka_unit_test(test_binary_search_finds_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
