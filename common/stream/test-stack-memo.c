/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/stream/stack-memo.h"

enum { N_WORDS = 6, N_STACKS = 50000 };

static struct stack_memo memo;

static int set_up(void **state)
{
	return stack_memo_init(&memo);
}

static int tear_down(void **state)
{
	stack_memo_deinit(&memo);
	return 0;
}

static struct stack_key key_of(uint64_t number)
{
	uint64_t words[N_WORDS] = { 0 };

	for (int i = 0; i < N_WORDS; i++)
		words[i] = number >> 8 * i & 0xff;
	return stack_memo_key(&memo, words, N_WORDS, 0);
}

/* A tenth of the capacity, so few stacks are evicted. */
static void test_stacks_are_found_again(void **state)
{
	size_t n_found = 0;

	for (uint64_t i = 1; i <= N_STACKS; i++) {
		assert_int_equal(stack_memo_find(&memo, key_of(i)), 0);
		stack_memo_keep(&memo, key_of(i), i);
	}
	for (uint64_t i = 1; i <= N_STACKS; i++) {
		uint64_t value = stack_memo_find(&memo, key_of(i));

		assert_true(value == i || !value);
		n_found += value == i;
	}
	assert_true(n_found > N_STACKS * 0.99);
}

static void test_any_difference_makes_another_stack(void **state)
{
	uint64_t words[N_WORDS] = { 1, 2, 3, 4, 5, 6 };

	stack_memo_keep(&memo, stack_memo_key(&memo, words, N_WORDS, 7), 1);
	assert_int_equal(stack_memo_find(&memo, stack_memo_key(&memo, words, N_WORDS, 7)), 1);
	assert_int_equal(stack_memo_find(&memo, stack_memo_key(&memo, words, N_WORDS, 8)), 0);
	assert_int_equal(stack_memo_find(&memo, stack_memo_key(&memo, words, N_WORDS - 1, 7)), 0);
	for (int i = 0; i < N_WORDS; i++)
		for (int bit = 0; bit < 64; bit++) {
			words[i] ^= 1ULL << bit;
			assert_int_equal(
				stack_memo_find(&memo, stack_memo_key(&memo, words, N_WORDS, 7)),
				0);
			words[i] ^= 1ULL << bit;
		}
	words[0] = 2;
	words[1] = 1;
	assert_int_equal(stack_memo_find(&memo, stack_memo_key(&memo, words, N_WORDS, 7)), 0);
}

static void test_a_stack_without_words_has_a_key(void **state)
{
	stack_memo_keep(&memo, stack_memo_key(&memo, NULL, 0, 1), 5);
	assert_int_equal(stack_memo_find(&memo, stack_memo_key(&memo, NULL, 0, 1)), 5);
	assert_int_equal(stack_memo_find(&memo, stack_memo_key(&memo, NULL, 0, 2)), 0);
}

/* The newest are kept. */
static void test_evicted_stacks_are_not_found(void **state)
{
	struct stack_key key = key_of(1);

	for (uint64_t i = 1; i <= STACK_MEMO_WAYS + 1; i++) {
		key.tag = i;
		stack_memo_keep(&memo, key, i);
	}
	for (uint64_t i = 1; i <= STACK_MEMO_WAYS + 1; i++) {
		key.tag = i;
		assert_int_equal(stack_memo_find(&memo, key), i == 1 ? 0 : i);
	}
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_stacks_are_found_again),
		TEST(test_any_difference_makes_another_stack),
		TEST(test_a_stack_without_words_has_a_key),
		TEST(test_evicted_stacks_are_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
