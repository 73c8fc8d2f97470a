/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of deep stacks are joined with their samples, and with no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "live-unwinder/deep-stack.h"

enum { TID = 7, SP = 0x7000, OWN = 64, PART = 4096 };

static struct deep_stack deep;
static char own[OWN], part[PART];

static int set_up(void **state)
{
	memset(own, 'o', sizeof(own));
	memset(part, 'p', sizeof(part));
	return 0;
}

static int tear_down(void **state)
{
	deep_stack_deinit(&deep);
	return 0;
}

static void add(uint64_t address)
{
	const struct wire_stack_part record = { TID, address, { part, PART } };

	assert_int_equal(deep_stack_add(&deep, &record), 0);
}

static struct wire_sample join(uint32_t tid, uint64_t sp, uint32_t n)
{
	struct wire_sample sample = { .tid = tid, .stack = { own, OWN }, .stack_parts = n };

	deep_stack_join(&deep, &sample, sp);
	return sample;
}

static void test_parts_follow_the_own_stack(void **state)
{
	struct wire_sample sample;
	const char *bytes;

	add(SP + OWN);
	add(SP + OWN + PART);
	sample = join(TID, SP, 2);
	bytes = sample.stack.data;
	assert_int_equal(sample.stack.size, OWN + 2 * PART);
	assert_memory_equal(bytes, own, OWN);
	assert_memory_equal(bytes + OWN, part, PART);
	assert_memory_equal(bytes + OWN + PART, part, PART);
	assert_int_equal(deep.n_refused, 0);
}

static void test_parts_may_overlap_the_own_stack(void **state)
{
	struct wire_sample sample;

	add(SP + OWN - 8);
	sample = join(TID, SP, 1);
	assert_int_equal(sample.stack.size, OWN - 8 + PART);
	assert_memory_equal((const char *)sample.stack.data + OWN - 8, "pppppppp", 8);
}

static void refuse(uint64_t address, uint32_t tid, uint64_t sp, uint32_t n)
{
	uint64_t before = deep.n_refused;
	struct wire_sample sample;

	add(address);
	sample = join(tid, sp, n);
	assert_ptr_equal(sample.stack.data, own);
	assert_int_equal(sample.stack.size, OWN);
	assert_int_equal(deep.n_refused, before + 1);
	assert_int_equal(deep.n, 0);
}

static void test_parts_of_others_are_refused(void **state)
{
	refuse(SP + OWN, TID + 1, SP, 1);
	refuse(SP + OWN, TID, SP - 8, 1); /* there is a gap */
	refuse(SP + OWN, TID, SP + OWN + 8, 1);
	refuse(SP + OWN, TID, SP, 2); /* one is missing */
	refuse(SP + OWN, TID, SP, 0);
}

static void test_parts_with_a_gap_are_refused(void **state)
{
	add(SP + OWN);
	add(SP + OWN + PART + 8);
	assert_int_equal(deep.n_refused, 1);
	assert_int_equal(deep.n, 0);
}

static void test_addresses_at_the_end_do_no_harm(void **state)
{
	refuse(UINT64_MAX, TID, SP, 1);
	refuse(0, TID, UINT64_MAX - 4, 1 + 1);
	refuse(OWN, TID, UINT64_MAX - OWN, 1);
}

static void test_a_sample_without_parts_is_left_alone(void **state)
{
	struct wire_sample sample = join(TID, SP, 0);

	assert_ptr_equal(sample.stack.data, own);
	assert_int_equal(deep.n_refused, 0);
	sample = join(TID, SP, 3);
	assert_ptr_equal(sample.stack.data, own);
	assert_int_equal(deep.n_refused, 1);
}

/* They were of a sample without registers. */
static void test_forgotten_parts_are_of_no_later_sample(void **state)
{
	struct wire_sample sample;

	add(SP + OWN);
	deep_stack_forget(&deep);
	sample = join(TID, SP, 1);
	assert_ptr_equal(sample.stack.data, own);
}

static void test_parts_have_a_limit(void **state)
{
	size_t n = DEEP_STACK_MAX / PART;

	for (size_t i = 0; i <= n; i++)
		add(SP + OWN + i * PART);
	assert_int_equal(deep.n_refused, 1);
	assert_int_equal(deep.n, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_parts_follow_the_own_stack),
		TEST(test_parts_may_overlap_the_own_stack),
		TEST(test_parts_of_others_are_refused),
		TEST(test_parts_with_a_gap_are_refused),
		TEST(test_addresses_at_the_end_do_no_harm),
		TEST(test_a_sample_without_parts_is_left_alone),
		TEST(test_forgotten_parts_are_of_no_later_sample),
		TEST(test_parts_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
