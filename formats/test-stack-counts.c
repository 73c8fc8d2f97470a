/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/stack-counts.h"

static int by_count(const void *a, const void *b, void *arg)
{
	const struct stack_count *left = a, *right = b;

	++*(int *)arg;
	return left->n_samples < right->n_samples ? 1 : -(left->n_samples > right->n_samples);
}

static void add(struct stack_counts *counts, size_t n, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t names[] = { a, b, c };

	assert_int_equal(stack_counts_add_many(counts, names, n, 1), 0);
}

static void test_equal_stacks_are_counted_together(void **state)
{
	struct stack_counts counts = { 0 };
	struct stack_count *list;
	int n_compared = 0;
	size_t n;

	add(&counts, 3, 1, 2, 3);
	add(&counts, 3, 1, 2, 4);
	add(&counts, 2, 1, 2, 0);
	for (int i = 0; i < 5; i++)
		add(&counts, 3, 1, 2, 4);
	add(&counts, 2, 1, 2, 0);
	add(&counts, 3, 2, 1, 3);
	assert_int_equal(stack_counts_list(&counts, by_count, &n_compared, &list, &n), 0);
	assert_int_equal(n, 4);
	assert_true(n_compared > 0);
	assert_int_equal(list[0].n_samples, 6);
	assert_int_equal(list[0].n_names, 3);
	assert_int_equal(list[0].names[2], 4);
	assert_int_equal(list[1].n_samples, 2);
	assert_int_equal(list[1].n_names, 2);
	assert_int_equal(list[2].n_samples, 1);
	assert_int_equal(list[3].n_samples, 1);
	free(list);
	stack_counts_deinit(&counts);
}

static void test_without_stacks_the_list_is_empty(void **state)
{
	struct stack_counts counts = { 0 };
	struct stack_count *list;
	int n_compared = 0;
	size_t n = 9;

	assert_int_equal(stack_counts_list(&counts, by_count, &n_compared, &list, &n), 0);
	assert_int_equal(n, 0);
	free(list);
	stack_counts_deinit(&counts);
}

static void test_a_deep_stack_is_kept_whole(void **state)
{
	static uint32_t names[8192];
	struct stack_counts counts = { 0 };
	struct stack_count *list;
	int n_compared = 0;
	size_t n;

	for (size_t i = 0; i < 8192; i++)
		names[i] = i;
	assert_int_equal(stack_counts_add_many(&counts, names, 8192, 1), 0);
	names[8191] = 5; /* another leaf only */
	assert_int_equal(stack_counts_add_many(&counts, names, 8192, 1), 0);
	assert_int_equal(stack_counts_list(&counts, by_count, &n_compared, &list, &n), 0);
	assert_int_equal(n, 2);
	assert_memory_equal(list[0].names, names, 8191 * sizeof(*names));
	free(list);
	stack_counts_deinit(&counts);
}

static void test_stacks_beyond_the_limit_are_counted_together(void **state)
{
	struct stack_counts counts = { 0 };

	for (uint32_t i = 0; i < STACK_COUNTS_MAX + 3; i++)
		add(&counts, 1, i, 0, 0);
	assert_int_equal(counts.n_other, 3);
	add(&counts, 1, 0, 0, 0); /* a known stack still counts */
	assert_int_equal(counts.n_other, 3);
	stack_counts_deinit(&counts);
}

static void test_rare_stacks_make_room_and_count_as_others(void **state)
{
	struct stack_counts counts = { 0 };
	struct stack_count *list;
	int n_compared = 0;
	size_t n;

	for (uint32_t i = 1; i <= 1000; i++)
		add(&counts, 2, 1, i, 0);
	for (int i = 0; i < 9; i++) {
		add(&counts, 2, 1, 7, 0);
		add(&counts, 2, 1, 500, 0);
	}
	add(&counts, 2, 1, 8, 0);
	stack_counts_forget_rare(&counts);
	assert_int_equal(counts.n_other, 997);
	assert_int_equal(stack_counts_list(&counts, by_count, &n_compared, &list, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(list[0].n_samples, 10);
	assert_int_equal(list[1].n_samples, 10);
	assert_int_equal(list[2].n_samples, 2);
	assert_int_equal(list[2].names[1], 8);
	free(list);
	add(&counts, 2, 1, 9, 0);
	assert_int_equal(counts.n, 4);
	stack_counts_deinit(&counts);
}

/* A forged stream's weights may exceed every power of two that "rare" is measured by. */
static void test_stacks_of_any_weight_make_room(void **state)
{
	struct stack_counts counts = { 0 };

	for (uint32_t i = 1; i <= 1000; i++)
		assert_int_equal(stack_counts_add_many(&counts, &i, 1, UINT64_MAX), 0);
	stack_counts_forget_rare(&counts);
	assert_in_range(counts.n, 0, 501);
	assert_true(counts.n_other == UINT64_MAX);
	stack_counts_deinit(&counts);
}

static void test_at_most_half_of_the_stacks_stay(void **state)
{
	struct stack_counts counts = { 0 };

	for (int round = 0; round < 5; round++)
		for (uint32_t i = 1; i <= 1000; i++)
			add(&counts, 2, 1, i, 0);
	stack_counts_forget_rare(&counts);
	assert_int_equal(counts.n, 0);
	assert_int_equal(counts.n_other, 5000);
	stack_counts_deinit(&counts);
}

static uint32_t one_of_two(uint32_t name, void *arg)
{
	return name == *(uint32_t *)arg ? name - 1 : name;
}

static void test_stacks_with_equal_new_names_are_merged(void **state)
{
	struct stack_counts counts = { 0 };
	struct stack_count *list;
	uint32_t renamed = 4;
	int n_compared = 0;
	size_t n;

	add(&counts, 3, 1, 2, 3);
	add(&counts, 3, 1, 2, 4);
	add(&counts, 3, 1, 2, 4);
	add(&counts, 3, 1, 2, 5);
	assert_int_equal(stack_counts_rename(&counts, one_of_two, &renamed), 0);
	assert_int_equal(stack_counts_list(&counts, by_count, &n_compared, &list, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].n_samples, 3);
	assert_int_equal(list[0].names[2], 3);
	assert_int_equal(list[1].names[2], 5);
	free(list);
	stack_counts_deinit(&counts);
}

static int n_given = -1; /* number of allocations that succeed; -1: all */

void *__real_reallocarray(void *pointer, size_t n, size_t size);
void *__wrap_reallocarray(void *pointer, size_t n, size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static bool has_memory(void)
{
	return n_given < 0 || n_given-- > 0;
}

void *__wrap_reallocarray(void *pointer, size_t n, size_t size)
{
	return has_memory() ? __real_reallocarray(pointer, n, size) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return has_memory() ? __real_calloc(n, size) : NULL;
}

void *__wrap_malloc(size_t size)
{
	return has_memory() ? __real_malloc(size) : NULL;
}

static void test_out_of_memory_keeps_rare_stacks(void **state)
{
	struct stack_counts counts = { 0 };
	int n_failed = 0;

	for (int round = 0; round < 3; round++)
		for (uint32_t i = 1; i <= 1000; i++)
			for (uint32_t n = i % 3; n < 3; n++)
				add(&counts, 2, 1, i, 0);
	for (n_given = 0; counts.n == 1000; n_given = ++n_failed)
		stack_counts_forget_rare(&counts);
	n_given = -1;
	assert_in_range(n_failed, 2, 100);
	assert_in_range(counts.n, 1, 500);
	stack_counts_deinit(&counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_stacks_are_counted_together),
		cmocka_unit_test(test_without_stacks_the_list_is_empty),
		cmocka_unit_test(test_a_deep_stack_is_kept_whole),
		cmocka_unit_test(test_stacks_beyond_the_limit_are_counted_together),
		cmocka_unit_test(test_rare_stacks_make_room_and_count_as_others),
		cmocka_unit_test(test_stacks_of_any_weight_make_room),
		cmocka_unit_test(test_at_most_half_of_the_stacks_stay),
		cmocka_unit_test(test_stacks_with_equal_new_names_are_merged),
		cmocka_unit_test(test_out_of_memory_keeps_rare_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
