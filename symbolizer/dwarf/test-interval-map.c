/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "symbolizer/dwarf/interval-map.h"

static void test_nothing_is_in_an_empty_map(void **state)
{
	_cleanup_(interval_map_deinit) struct interval_map map;

	assert_int_equal(interval_map_init(&map, NULL, 0), 0);
	assert_int_equal(interval_map_find(&map, 0), INTERVAL_NONE);
	assert_int_equal(interval_map_find(&map, UINT64_MAX), INTERVAL_NONE);
}

static void test_the_innermost_interval_is_found(void **state)
{
	struct interval list[] = { { 10, 50, 0 }, { 20, 40, 1 }, { 25, 30, 2 }, { 60, 70, 3 } };
	_cleanup_(interval_map_deinit) struct interval_map map;

	assert_int_equal(interval_map_init(&map, list, 4), 0);
	assert_int_equal(interval_map_find(&map, 9), INTERVAL_NONE);
	assert_int_equal(interval_map_find(&map, 10), 0);
	assert_int_equal(interval_map_find(&map, 24), 1);
	assert_int_equal(interval_map_find(&map, 25), 2);
	assert_int_equal(interval_map_find(&map, 30), 1);
	assert_int_equal(interval_map_find(&map, 49), 0);
	assert_int_equal(interval_map_find(&map, 50), INTERVAL_NONE);
	assert_int_equal(interval_map_find(&map, 69), 3);
	assert_int_equal(interval_map_find(&map, 70), INTERVAL_NONE);
}

static void test_empty_and_reversed_intervals_are_ignored(void **state)
{
	struct interval list[] = { { 10, 10, 5 }, { 30, 20, 6 }, { 5, 40, 1 } };
	_cleanup_(interval_map_deinit) struct interval_map map;

	assert_int_equal(interval_map_init(&map, list, 3), 0);
	assert_int_equal(map.n, 2);
	assert_int_equal(interval_map_find(&map, 25), 1);
}

static void test_the_last_address_can_be_held(void **state)
{
	struct interval list[] = { { 0, UINT64_MAX, 7 } };
	_cleanup_(interval_map_deinit) struct interval_map map;

	assert_int_equal(interval_map_init(&map, list, 1), 0);
	assert_int_equal(interval_map_find(&map, 0), 7);
	assert_int_equal(interval_map_find(&map, UINT64_MAX - 1), 7);
	assert_int_equal(interval_map_find(&map, UINT64_MAX), INTERVAL_NONE);
}

static uint32_t find_slowly(const struct interval *list, size_t n, uint64_t address)
{
	uint32_t found = INTERVAL_NONE;

	for (size_t i = 0; i < n; i++)
		if (list[i].start <= address && address < list[i].end &&
		    (found == INTERVAL_NONE || list[i].number > found))
			found = list[i].number;
	return found;
}

static void test_any_overlap_is_answered_by_the_highest_number(void **state)
{
	enum { ROUNDS = 2000, INTERVALS = 12, ADDRESSES = 64 };

	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(interval_map_deinit) struct interval_map map;
		struct interval list[INTERVALS];

		for (size_t i = 0; i < INTERVALS; i++) {
			list[i].start = rand() % ADDRESSES;
			list[i].end = list[i].start + rand() % 20;
			list[i].number = rand() % 6;
		}
		assert_int_equal(interval_map_init(&map, list, INTERVALS), 0);
		assert_true(map.n <= 2 * INTERVALS);
		for (uint64_t address = 0; address < ADDRESSES + 32; address++)
			assert_int_equal(interval_map_find(&map, address),
					 find_slowly(list, INTERVALS, address));
	}
}

static bool is_shared(const struct interval *list, size_t n, uint64_t address)
{
	uint32_t found = find_slowly(list, n, address);

	for (size_t i = 0; i < n; i++)
		if (list[i].start <= address && address < list[i].end && list[i].number != found)
			return true;
	return false;
}

static void test_overlaps_are_reported(void **state)
{
	enum { ROUNDS = 2000, INTERVALS = 6, ADDRESSES = 64 };

	srand(2);
	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(interval_map_deinit) struct interval_map map, overlaps;
		struct interval list[INTERVALS];

		for (size_t i = 0; i < INTERVALS; i++) {
			list[i].start = rand() % ADDRESSES;
			list[i].end = list[i].start + rand() % 20;
			list[i].number = rand() % 4;
		}
		assert_int_equal(interval_map_init(&map, list, INTERVALS), 0);
		assert_int_equal(interval_map_init_overlaps(&overlaps, list, INTERVALS), 0);
		for (uint64_t address = 0; address < ADDRESSES + 32; address++)
			assert_int_equal(interval_map_find(&overlaps, address) != INTERVAL_NONE,
					 is_shared(list, INTERVALS, address));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_in_an_empty_map),
		cmocka_unit_test(test_the_innermost_interval_is_found),
		cmocka_unit_test(test_empty_and_reversed_intervals_are_ignored),
		cmocka_unit_test(test_the_last_address_can_be_held),
		cmocka_unit_test(test_any_overlap_is_answered_by_the_highest_number),
		cmocka_unit_test(test_overlaps_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
