/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/reading-share.h"

enum { GREEDY = 1000, OTHER = 2000, LARGE = 1 << 30 };

#define TURN_NS 10000000ULL
#define SECOND_NS 1000000000ULL
#define BEGIN_NS (1000 * SECOND_NS)
#define END_NS (1060 * SECOND_NS)

/* Each user reads whenever allowed; returns how much of one minute each of `n` users read. */
static void read_for_a_minute(const uid_t *users, size_t n, uint64_t *ret_took)
{
	struct reading_share share = { 0 };
	uint64_t now = BEGIN_NS;

	for (size_t i = 0; i < n; i++)
		ret_took[i] = 0;
	for (; now < END_NS; now += TURN_NS / 10) {
		for (size_t i = 0; i < n; i++) {
			if (!reading_share_allows(&share, users[i], LARGE, now))
				continue;
			reading_share_use(&share, users[i], now, now + TURN_NS);
			now += TURN_NS;
			ret_took[i] += TURN_NS;
		}
	}
}

static void test_one_user_gets_a_twentieth_plus_savings(void **state)
{
	const uid_t users[] = { GREEDY };
	uint64_t took;

	read_for_a_minute(users, 1, &took);
	assert_in_range(took, 60 * SECOND_NS / READING_SHARE_USER,
			60 * SECOND_NS / READING_SHARE_USER + READING_SAVED_USER_NS + TURN_NS);
}

static void test_all_users_share_a_tenth(void **state)
{
	uid_t users[300];
	uint64_t took[300], all = 0;

	for (size_t i = 0; i < 300; i++)
		users[i] = GREEDY + i;
	read_for_a_minute(users, 300, took);
	for (size_t i = 0; i < 300; i++)
		all += took[i];
	assert_in_range(all, 60 * SECOND_NS / READING_SHARE,
			60 * SECOND_NS / READING_SHARE + READING_SAVED_NS + TURN_NS);
}

static void test_an_idle_user_does_not_block_others(void **state)
{
	struct reading_share share = { 0 };
	uint64_t now = BEGIN_NS;

	while (reading_share_allows(&share, GREEDY, LARGE, now))
		reading_share_use(&share, GREEDY, now, now + TURN_NS);
	assert_true(reading_share_allows(&share, OTHER, LARGE, now));
	reading_share_use(&share, OTHER, now, now + TURN_NS);
	assert_true(reading_share_allows(&share, OTHER, LARGE, now));
}

static void test_a_file_of_usual_size_is_read_at_once(void **state)
{
	struct reading_share share = { 0 };
	uint64_t took = 0;

	for (; reading_share_allows(&share, GREEDY, LARGE, BEGIN_NS); took += TURN_NS)
		reading_share_use(&share, GREEDY, BEGIN_NS, BEGIN_NS + TURN_NS);
	assert_in_range(took, READING_SAVED_USER_NS, READING_SAVED_USER_NS + TURN_NS);
}

static void test_small_files_are_read_beside_large_ones(void **state)
{
	struct reading_share share = { 0 };

	while (reading_share_allows(&share, GREEDY, LARGE, BEGIN_NS))
		reading_share_use(&share, GREEDY, BEGIN_NS, BEGIN_NS + TURN_NS);
	assert_int_equal(reading_share_allows(&share, GREEDY, READING_SMALL, BEGIN_NS),
			 READING_SMALL);
	assert_int_equal(reading_share_allows(&share, GREEDY, READING_SMALL + 1, BEGIN_NS), 0);
	for (uint64_t took = 0; took < READING_SAVED_NS; took += TURN_NS)
		reading_share_use(&share, GREEDY, BEGIN_NS, BEGIN_NS + TURN_NS);
	assert_int_equal(reading_share_allows(&share, GREEDY, 1, BEGIN_NS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_user_gets_a_twentieth_plus_savings),
		cmocka_unit_test(test_all_users_share_a_tenth),
		cmocka_unit_test(test_an_idle_user_does_not_block_others),
		cmocka_unit_test(test_a_file_of_usual_size_is_read_at_once),
		cmocka_unit_test(test_small_files_are_read_beside_large_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
