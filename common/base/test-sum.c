/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/base/sum.h"

static void test_a_sum_does_not_wrap(void **state)
{
	uint64_t sum = 0;

	assert_true(sum_add(&sum, SUM_FULL - 2));
	assert_true(sum_add(&sum, 1));
	assert_false(sum_add(&sum, 1)); /* this value means more than can be counted */
	assert_false(sum_add(&sum, 0));
	assert_false(sum_add(&sum, SUM_FULL));
	assert_true(sum == SUM_FULL);
}

static void test_a_sum_does_not_go_below_zero(void **state)
{
	uint64_t sum = 5, full = SUM_FULL;

	sum_take_off(&sum, 2);
	assert_int_equal(sum, 3);
	sum_take_off(&sum, 4);
	assert_int_equal(sum, 0);
	sum_take_off(&full, 4); /* amount unknown */
	assert_true(full == SUM_FULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sum_does_not_wrap),
		cmocka_unit_test(test_a_sum_does_not_go_below_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
