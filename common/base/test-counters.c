/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/counters.h"

static void test_a_counter_keeps_its_address(void **state)
{
	struct counters counters = { 0 };
	uint64_t *first = counters_get(&counters, "dropped", "damaged");
	char name[16];

	assert_int_equal(*first, 0);
	*first = 5;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		++*counters_get(&counters, "other", name);
	}
	assert_ptr_equal(counters_get(&counters, "dropped", "damaged"), first);
	assert_int_equal(*first, 5);
	assert_string_equal(counters.list[0]->name, "damaged");
	assert_string_equal(counters.list[1000]->name, "999");
	counters_deinit(&counters);
}

static void test_groups_are_separate(void **state)
{
	struct counters counters = { 0 };

	*counters_get(&counters, "dropped", "same") = 1;
	*counters_get(&counters, "dropped", "another") = 10;
	*counters_get(&counters, "stacks", "same") = 100;
	assert_int_equal(*counters_get(&counters, "dropped", "same"), 1);
	assert_int_equal(*counters_get(&counters, "dropped", "another"), 10);
	assert_int_equal(*counters_get(&counters, "stacks", "same"), 100);
	assert_int_equal(counters.n, 3);
	counters_deinit(&counters);
}

static void test_counters_over_the_limit_share_one(void **state)
{
	struct counters counters = { 0 };
	char name[16];

	for (int i = 0; i < COUNTERS_MAX + 7; i++) {
		snprintf(name, sizeof(name), "%d", i);
		++*counters_get(&counters, "group", name);
	}
	assert_int_equal(counters.n, COUNTERS_MAX);
	assert_int_equal(*counters_get(&counters, "refused", "further-counts"), 8);
	assert_string_equal(counters.list[COUNTERS_MAX - 1]->name, "further-counts");
	assert_int_equal(*counters_get(&counters, "group", "0"), 1);
	counters_deinit(&counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_counter_keeps_its_address),
		cmocka_unit_test(test_groups_are_separate),
		cmocka_unit_test(test_counters_over_the_limit_share_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
