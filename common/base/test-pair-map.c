/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/pair-map.h"

static void test_every_pair_is_found_again(void **state)
{
	struct pair_map map;

	pair_map_init(&map, 1 << 20);
	assert_null(pair_map_find(&map, 0, 0));
	/* Pairs that differ in only one half, only in high bits, or by being swapped. */
	for (uint64_t i = 0; i < 20000; i++) {
		assert_int_equal(pair_map_add(&map, i, 1, i), 0);
		assert_int_equal(pair_map_add(&map, 1ULL << 40, i + 20000, i + 1), 0);
		assert_int_equal(pair_map_add(&map, i << 44, 99 + (i << 40), i + 2), 0);
	}
	assert_int_equal(map.n, 60000);
	for (uint64_t i = 0; i < 20000; i++) {
		assert_int_equal(*pair_map_find(&map, i, 1), i);
		assert_int_equal(*pair_map_find(&map, 1ULL << 40, i + 20000), i + 1);
		assert_int_equal(*pair_map_find(&map, i << 44, 99 + (i << 40)), i + 2);
		assert_null(pair_map_find(&map, i, 2));
	}
	assert_null(pair_map_find(&map, UINT64_MAX, UINT64_MAX));
	pair_map_deinit(&map);
}

static void test_zero_is_a_pair_like_any_other(void **state)
{
	struct pair_map map;

	pair_map_init(&map, 10);
	assert_int_equal(pair_map_add(&map, 0, 0, 0), 0);
	assert_non_null(pair_map_find(&map, 0, 0));
	assert_null(pair_map_find(&map, 0, 1));
	assert_null(pair_map_find(&map, 1, 0));
	pair_map_deinit(&map);
}

static void test_a_full_map_refuses(void **state)
{
	struct pair_map map;

	pair_map_init(&map, 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(pair_map_add(&map, i, i, i), 0);
	assert_int_equal(pair_map_add(&map, 3, 3, 3), -ENOSPC);
	assert_null(pair_map_find(&map, 3, 3));
	assert_int_equal(map.n, 3);
	pair_map_deinit(&map);
	assert_int_equal(pair_map_add(&map, 3, 3, 3), 0); /* usable again, limit unchanged */
	assert_int_equal(map.n_max, 3);
	pair_map_deinit(&map);

	pair_map_init(&map, 0);
	assert_int_equal(pair_map_add(&map, 1, 1, 1), -ENOSPC);
	pair_map_deinit(&map);
}

static void test_a_value_can_be_changed_in_place(void **state)
{
	struct pair_map map;

	pair_map_init(&map, 10);
	pair_map_add(&map, 1, 2, 3);
	*pair_map_find(&map, 1, 2) = 4;
	assert_int_equal(*pair_map_find(&map, 1, 2), 4);
	pair_map_deinit(&map);
}

static void sum(uint64_t a, uint64_t b, uint64_t value, void *arg)
{
	uint64_t *sums = arg;

	sums[0] += a;
	sums[1] += b;
	sums[2] += value;
	sums[3]++;
}

static void test_each_pair_is_visited_once(void **state)
{
	uint64_t sums[4] = { 0 };
	struct pair_map map;

	pair_map_init(&map, 5000);
	pair_map_each(&map, sum, sums);
	assert_int_equal(sums[3], 0);
	for (uint64_t i = 0; i < 3000; i++)
		pair_map_add(&map, i, 10 * i, 100 * i);
	pair_map_each(&map, sum, sums);
	assert_int_equal(sums[3], 3000);
	assert_int_equal(sums[0], 3000 * 2999 / 2);
	assert_int_equal(sums[1], 10 * sums[0]);
	assert_int_equal(sums[2], 100 * sums[0]);
	pair_map_clear(&map);
	assert_null(pair_map_find(&map, 1, 10));
	pair_map_each(&map, sum, sums);
	assert_int_equal(sums[3], 3000);
	assert_int_equal(pair_map_add(&map, 1, 10, 5), 0);
	assert_int_equal(*pair_map_find(&map, 1, 10), 5);
	pair_map_deinit(&map);
}

/* Few slots and many removals cut runs of neighbours at every place. */
static void test_removal_affects_no_other_pair(void **state)
{
	enum { KEYS = 400, STEPS = 200000 };
	bool is_there[KEYS] = { false };
	struct pair_map map;
	uint32_t random = 1;
	size_t n = 0;

	pair_map_init(&map, KEYS);
	for (int step = 0; step < STEPS; step++) {
		uint64_t key;

		random = random * 1664525 + 1013904223;
		key = random >> 16 & 0xffff;
		key %= KEYS;
		if (is_there[key])
			pair_map_remove(&map, key, key * 3);
		else
			assert_int_equal(pair_map_add(&map, key, key * 3, key + 1), 0);
		is_there[key] = !is_there[key];
		n += is_there[key] ? 1 : -1;
		assert_int_equal(map.n, n);
		if (step % 1000)
			continue;
		for (uint64_t i = 0; i < KEYS; i++) {
			uint64_t *value = pair_map_find(&map, i, i * 3);

			assert_int_equal(value != NULL, is_there[i]);
			if (value)
				assert_int_equal(*value, i + 1);
		}
	}
	pair_map_remove(&map, 1, 1); /* was never added */
	assert_int_equal(map.n, n);
	pair_map_deinit(&map);
}

static bool is_even(uint64_t a, uint64_t b, uint64_t value, void *arg)
{
	++*(int *)arg;
	return value % 2 == 0;
}

static void test_filtering_keeps_the_selected_pairs(void **state)
{
	struct pair_map map;
	int n_asked = 0;

	pair_map_init(&map, 10000);
	for (uint64_t i = 0; i < 5000; i++)
		assert_int_equal(pair_map_add(&map, i % 7, i, i), 0);
	pair_map_keep(&map, is_even, &n_asked);
	assert_int_equal(n_asked, 5000);
	assert_int_equal(map.n, 2500);
	for (uint64_t i = 0; i < 5000; i++) {
		const uint64_t *found = pair_map_find(&map, i % 7, i);

		assert_true(i % 2 ? !found : found && *found == i);
	}
	for (uint64_t i = 0; i < 7500; i++) /* as many as the first time */
		assert_int_equal(pair_map_add(&map, 9, i, 0), 0);
	assert_int_equal(pair_map_add(&map, 9, 7500, 0), -ENOSPC);
	pair_map_keep(&map, is_even, &n_asked);
	pair_map_deinit(&map);
}

static void test_filtering_an_empty_map_keeps_it_empty(void **state)
{
	struct pair_map map;
	int n_asked = 0;

	pair_map_init(&map, 10);
	pair_map_keep(&map, is_even, &n_asked);
	assert_int_equal(map.n, 0);
	assert_null(pair_map_find(&map, 1, 2));
	assert_int_equal(pair_map_add(&map, 1, 2, 4), 0);
	assert_int_equal(*pair_map_find(&map, 1, 2), 4);
	pair_map_deinit(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair_is_found_again),
		cmocka_unit_test(test_zero_is_a_pair_like_any_other),
		cmocka_unit_test(test_a_full_map_refuses),
		cmocka_unit_test(test_a_value_can_be_changed_in_place),
		cmocka_unit_test(test_each_pair_is_visited_once),
		cmocka_unit_test(test_removal_affects_no_other_pair),
		cmocka_unit_test(test_filtering_keeps_the_selected_pairs),
		cmocka_unit_test(test_filtering_an_empty_map_keeps_it_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
