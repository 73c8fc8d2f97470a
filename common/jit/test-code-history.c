/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/jit/code-history.h"

static void add(struct code_history *history, uint64_t start, uint64_t end)
{
	assert_int_equal(code_history_add(history, start, end), 0);
}

/* What code_history_find() must return, by linear search. */
static size_t look(const struct code_history *history, size_t n, uint64_t address)
{
	while (n-- > 0)
		if (history->pieces[n].start <= address && address < history->pieces[n].end)
			return n;
	return CODE_HISTORY_NONE;
}

static void check_now(const struct code_history *history, uint64_t address, size_t piece)
{
	assert_int_equal(code_history_find(history, history->n, address), piece);
}

static void test_an_empty_history_finds_nothing(void **state)
{
	struct code_history history = { 0 };

	check_now(&history, 0, CODE_HISTORY_NONE);
	check_now(&history, UINT64_MAX, CODE_HISTORY_NONE);
	code_history_deinit(&history);
}

static void test_a_later_piece_cuts_an_earlier_one(void **state)
{
	struct code_history history = { 0 };

	add(&history, 0x1000, 0x2000);
	add(&history, 0x1800, 0x1900);
	check_now(&history, 0xfff, CODE_HISTORY_NONE);
	check_now(&history, 0x1000, 0);
	check_now(&history, 0x17ff, 0);
	check_now(&history, 0x1800, 1);
	check_now(&history, 0x18ff, 1);
	check_now(&history, 0x1900, 0);
	check_now(&history, 0x1fff, 0);
	check_now(&history, 0x2000, CODE_HISTORY_NONE);
	code_history_deinit(&history);
}

static void test_a_later_piece_hides_earlier_ones(void **state)
{
	struct code_history history = { .depth = CODE_HISTORY_ALL };

	add(&history, 0x1000, 0x1100);
	add(&history, 0x1100, 0x1200);
	add(&history, 0xf00, 0x1300);
	check_now(&history, 0x1080, 2);
	check_now(&history, 0x1180, 2);
	assert_int_equal(code_history_find(&history, 2, 0x1080), 0);
	assert_int_equal(code_history_find(&history, 1, 0x1180), CODE_HISTORY_NONE);
	assert_int_equal(code_history_find(&history, 0, 0x1080), CODE_HISTORY_NONE);
	code_history_deinit(&history);
}

static void test_the_whole_address_space_is_a_piece(void **state)
{
	struct code_history history = { .depth = CODE_HISTORY_ALL };

	for (int i = 0; i < 16; i++)
		add(&history, i, UINT64_MAX - i);
	for (uint64_t i = 0; i < 16; i++) {
		check_now(&history, i, i);
		check_now(&history, UINT64_MAX - i - 1, i);
	}
	check_now(&history, UINT64_MAX, CODE_HISTORY_NONE);
	code_history_deinit(&history);
}

/* Random pieces: each lookup at each time must equal a linear search. */
static void check_random(enum code_history_depth depth, uint64_t width, uint64_t longest)
{
	enum { N = 5000, N_QUESTIONS = 5000 };
	struct code_history history = { .depth = depth };
	unsigned int seed = 1;

	for (size_t i = 0; i < N; i++) {
		uint64_t start = rand_r(&seed) % width, n;

		add(&history, start, start + 1 + rand_r(&seed) % longest);
		n = depth == CODE_HISTORY_ALL ? rand_r(&seed) % (i + 2) : i + 1;
		start = rand_r(&seed) % width;
		assert_int_equal(code_history_find(&history, n, start), look(&history, n, start));
	}
	for (size_t i = 0; i < N_QUESTIONS; i++) {
		uint64_t address = rand_r(&seed) % (width + longest);

		check_now(&history, address, look(&history, N, address));
	}
	code_history_deinit(&history);
}

static void test_each_answer_is_the_last_piece_of_its_time(void **state)
{
	check_random(CODE_HISTORY_ALL, 100, 10);
	check_random(CODE_HISTORY_ALL, 10000, 10);
	check_random(CODE_HISTORY_ALL, 10000, 5000);
}

static void test_current_code_is_found_without_history(void **state)
{
	check_random(CODE_HISTORY_LATEST, 100, 10);
	check_random(CODE_HISTORY_LATEST, 10000, 10);
	check_random(CODE_HISTORY_LATEST, 10000, 5000);
}

/* Nested pieces, which need the most spans. */
static void test_further_pieces_than_the_limit_are_refused(void **state)
{
	struct code_history history = { 0 };

	for (uint64_t i = 0; i < CODE_HISTORY_MAX; i++)
		add(&history, i, 2 * CODE_HISTORY_MAX - i);
	assert_int_equal(code_history_add(&history, 0, 1), -ENOSPC);
	assert_int_equal(history.n, CODE_HISTORY_MAX);
	for (uint64_t i = 0; i < CODE_HISTORY_MAX; i += 1001) {
		check_now(&history, i, i);
		check_now(&history, 2 * CODE_HISTORY_MAX - i - 1, i);
	}
	code_history_deinit(&history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_history_finds_nothing),
		cmocka_unit_test(test_a_later_piece_cuts_an_earlier_one),
		cmocka_unit_test(test_a_later_piece_hides_earlier_ones),
		cmocka_unit_test(test_the_whole_address_space_is_a_piece),
		cmocka_unit_test(test_each_answer_is_the_last_piece_of_its_time),
		cmocka_unit_test(test_current_code_is_found_without_history),
		cmocka_unit_test(test_further_pieces_than_the_limit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
