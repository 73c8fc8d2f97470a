/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptions as compilers write them: where is the caller's frame pointer, and who says so? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind-popped.h"

static struct popped_fp popped;

static int set_up(void **state)
{
	popped = (struct popped_fp){ 0 };
	return 0;
}

static struct unwind_rule mend(enum unwind_cfa cfa, int32_t cfa_offset, enum unwind_value fp,
			       int32_t fp_offset)
{
	struct unwind_rule rule = {
		.cfa = cfa,
		.cfa_offset = cfa_offset,
		.return_address = UNWIND_VALUE_AT_CFA,
		.return_address_offset = -8,
		.fp = fp,
		.fp_offset = fp_offset,
	};

	popped_fp_mend(&popped, &rule);
	return rule;
}

/* The next rule stays as it is. */
static void keeps(enum unwind_cfa cfa, int32_t cfa_offset, enum unwind_value fp, int32_t fp_offset)
{
	struct unwind_rule rule = mend(cfa, cfa_offset, fp, fp_offset);

	assert_int_equal(rule.fp, fp);
	assert_int_equal(rule.fp_offset, fp_offset);
	assert_int_equal(rule.flags, 0);
}

/* The next rule, with the frame pointer at CFA - 16 or another place, is mended. */
static void mends(int32_t cfa_offset, int32_t fp_offset)
{
	struct unwind_rule rule = mend(UNWIND_CFA_SP, cfa_offset, UNWIND_VALUE_AT_CFA, fp_offset);

	assert_int_equal(rule.fp, UNWIND_VALUE_SAME);
	assert_int_equal(rule.fp_offset, 0);
	assert_int_equal(rule.flags, UNWIND_FLAG_MENDED);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.return_address_offset, -8);
}

static void test_push_and_leave(void **state)
{
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_SAME, 0);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_FP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
}

static void test_several_pops(void **state)
{
	keeps(UNWIND_CFA_SP, 32, UNWIND_VALUE_AT_CFA, -32);
	mends(24, -32);
	mends(16, -32);
	mends(8, -32);
}

static void test_what_is_on_top_is_not_popped_yet(void **state)
{
	keeps(UNWIND_CFA_SP, 24, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
}

static void test_code_behind_a_return_has_its_frame_again(void **state)
{
	keeps(UNWIND_CFA_FP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
	keeps(UNWIND_CFA_FP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
}

static void test_what_was_saved_in_the_red_zone_is_there(void **state)
{
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_SAME, 0);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
}

static void test_another_slot_is_another_matter(void **state)
{
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -24);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -24);
}

static void test_a_restored_register_is_forgotten(void **state)
{
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_SAME, 0);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
}

static void test_other_frames_are_left_alone(void **state)
{
	keeps(UNWIND_CFA_REGISTER, 0, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_AT_SP, -8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_SP, -16);
}

static void test_offsets_may_be_as_large_as_they_are(void **state)
{
	keeps(UNWIND_CFA_SP, INT32_MAX, UNWIND_VALUE_AT_CFA, INT32_MIN + 1);
	mends(INT32_MIN, INT32_MIN + 1);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_push_and_leave),
		TEST(test_several_pops),
		TEST(test_what_is_on_top_is_not_popped_yet),
		TEST(test_code_behind_a_return_has_its_frame_again),
		TEST(test_what_was_saved_in_the_red_zone_is_there),
		TEST(test_another_slot_is_another_matter),
		TEST(test_a_restored_register_is_forgotten),
		TEST(test_other_frames_are_left_alone),
		TEST(test_offsets_may_be_as_large_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
