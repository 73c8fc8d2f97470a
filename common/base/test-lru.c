/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/lru.h"

enum { ITEMS = 4 };

static struct lru lru;
static struct lru_link links[ITEMS];
static char items[ITEMS];

static int set_up(void **state)
{
	lru = (struct lru){ NULL };
	for (int i = 0; i < ITEMS; i++) {
		links[i] = (struct lru_link){ NULL };
		lru_add(&lru, &links[i], &items[i]);
	}
	return 0;
}

/* Removes the oldest item after checking that it is this one. */
static void check_oldest(int item)
{
	assert_ptr_equal(lru_oldest(&lru), &items[item]);
	lru_remove(&lru, &links[item]);
}

static void test_oldest_is_first(void **state)
{
	for (int i = 0; i < ITEMS; i++) {
		assert_int_equal(lru.n, ITEMS - i);
		check_oldest(i);
	}
	assert_null(lru_oldest(&lru));
	assert_null(lru.newest);
}

static void test_used_item_is_newest(void **state)
{
	lru_use(&lru, &links[0]);
	lru_use(&lru, &links[2]);
	lru_use(&lru, &links[2]);
	assert_int_equal(lru.n, ITEMS);
	check_oldest(1);
	check_oldest(3);
	check_oldest(0);
	check_oldest(2);
}

static void test_removed_item_is_left_alone(void **state)
{
	lru_remove(&lru, &links[1]);
	lru_remove(&lru, &links[1]);
	lru_use(&lru, &links[1]);
	assert_int_equal(lru.n, ITEMS - 1);
	lru_remove(&lru, &links[3]);
	lru_add(&lru, &links[1], &items[1]);
	check_oldest(0);
	check_oldest(2);
	check_oldest(1);
	assert_int_equal(lru.n, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_oldest_is_first, set_up),
		cmocka_unit_test_setup(test_used_item_is_newest, set_up),
		cmocka_unit_test_setup(test_removed_item_is_left_alone, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
