/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What members of groups have counted since the previous sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perfdata-source/group-values.h"

enum { ID = 77, OTHER_ID = 78, TID = 100, OTHER_TID = 101 };

static struct group_values values;
static struct event event;

static int set_up(void **state)
{
	group_values_init(&values);
	event = (struct event){ 0 };
	return 0;
}

static int tear_down(void **state)
{
	group_values_deinit(&values);
	return 0;
}

static uint64_t take(uint32_t tid, uint64_t id, uint64_t value)
{
	uint64_t counted;

	assert_int_equal(group_values_take(&values, &event, tid, id, value, &counted), 0);
	return counted;
}

static void test_differences(void **state)
{
	assert_int_equal(take(TID, ID, 10), 10);
	assert_int_equal(take(TID, OTHER_ID, 3), 3);
	assert_int_equal(take(OTHER_TID, ID, 15), 5); /* per CPU, whichever thread runs there */
	assert_int_equal(take(TID, ID, 15), 0);
	assert_int_equal(take(TID, ID, UINT64_MAX), UINT64_MAX - 15);
	assert_int_equal(values.n_refused, 0);
}

static void test_inherited_events_count_per_thread(void **state)
{
	event.is_inherited = true;
	assert_int_equal(take(TID, ID, 10), 10);
	assert_int_equal(take(OTHER_TID, ID, 4), 4);
	assert_int_equal(take(TID, ID, 11), 1);
}

static void test_a_value_that_goes_back_counts_nothing(void **state)
{
	assert_int_equal(take(TID, ID, 10), 10);
	assert_int_equal(take(TID, ID, 9), 0);
	assert_int_equal(take(TID, ID, 12), 2);
	assert_int_equal(values.n_refused, 1);
}

static void test_more_members_than_there_may_be(void **state)
{
	for (uint64_t id = 0; id < GROUP_VALUES_MAX; id++)
		assert_int_equal(take(TID, id, 1), 1);
	assert_int_equal(take(TID, GROUP_VALUES_MAX, 1), 0);
	assert_int_equal(take(TID, 0, 3), 2);
	assert_int_equal(values.n_refused, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_differences),
		TEST(test_inherited_events_count_per_thread),
		TEST(test_a_value_that_goes_back_counts_nothing),
		TEST(test_more_members_than_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
