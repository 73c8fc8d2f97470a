/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the caller's frame pointer is, for CFI as compilers emit it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/unwind-popped.h"

enum { NOP = 0x90, AT = 32 };

static struct popped_fp popped;
static uint8_t bytes[AT]; /* code before the next rule */
static struct unwind_code code = { .file = bytes, .size = sizeof(bytes) };
static size_t holds_before;

static int set_up(void **state)
{
	popped = (struct popped_fp){ 0 };
	memset(bytes, NOP, sizeof(bytes));
	return 0;
}

/* Sets the last instructions before the next rule. */
static void behind(const void *last, size_t n)
{
	memset(bytes, NOP, sizeof(bytes));
	memcpy(bytes + sizeof(bytes) - n, last, n);
}

static struct unwind_rule infer(enum unwind_cfa cfa, int32_t cfa_offset, enum unwind_value fp,
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

	holds_before = popped_fp_infer(&popped, &unwind_x86_64, &code, AT, &rule);
	return rule;
}

/* The next rule must stay unchanged. */
static void keeps(enum unwind_cfa cfa, int32_t cfa_offset, enum unwind_value fp, int32_t fp_offset)
{
	struct unwind_rule rule = infer(cfa, cfa_offset, fp, fp_offset);

	assert_int_equal(rule.fp, fp);
	assert_int_equal(rule.fp_offset, fp_offset);
	assert_int_equal(rule.flags, 0);
}

/* The next rule, with the frame pointer at CFA + `fp_offset`, must be corrected. */
static void mends(int32_t cfa_offset, int32_t fp_offset)
{
	struct unwind_rule rule = infer(UNWIND_CFA_SP, cfa_offset, UNWIND_VALUE_AT_CFA, fp_offset);

	assert_int_equal(rule.fp, UNWIND_VALUE_SAME);
	assert_int_equal(rule.fp_offset, 0);
	assert_int_equal(rule.flags, UNWIND_FLAG_INFERRED);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.return_address_offset, -8);
}

static void behind_pop(void)
{
	behind("\x5d", 1);
}

static void test_push_and_leave(void **state)
{
	behind("\xc9", 1);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_SAME, 0);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_FP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
}

static void test_several_pops(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_SP, 32, UNWIND_VALUE_AT_CFA, -32);
	mends(24, -32);
	behind("\x41\x5c", 2); /* pop %r12 */
	mends(16, -32);
	mends(8, -32);
}

static void test_the_top_slot_is_not_popped_yet(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_SP, 24, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
}

static void test_code_behind_a_return_has_its_frame_again(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_FP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
	keeps(UNWIND_CFA_FP, 16, UNWIND_VALUE_AT_CFA, -16);
	mends(8, -16);
}

static void test_a_red_zone_slot_is_kept(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_SAME, 0);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
}

static void test_another_slot_is_kept(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -24);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -24);
}

static void test_a_restored_register_is_forgotten(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_SAME, 0);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
}

static void test_other_frames_are_left_alone(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_REGISTER, 0, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_AT_SP, -8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_SP, -16);
}

static void test_large_offsets_do_not_overflow(void **state)
{
	behind_pop();
	keeps(UNWIND_CFA_SP, INT32_MAX, UNWIND_VALUE_AT_CFA, INT32_MIN + 1);
	mends(INT32_MIN, INT32_MIN + 1);
}

/* For example a slot in the red zone of hand-written code that has called before. */
static void test_a_slot_not_popped_by_code_is_kept(void **state)
{
	keeps(UNWIND_CFA_SP, 32, UNWIND_VALUE_AT_CFA, -16);
	behind("\x48\x83\xc4\x18", 4); /* add $24, %rsp */
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	behind_pop(); /* of another value: the slot was in use before */
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
}

static void test_pops_of_other_registers_are_ignored(void **state)
{
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	behind("\x41\x5d", 2); /* pop %r13 */
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	behind("\x48\x5d", 2); /* pop %rbp with a redundant prefix */
	mends(8, -16);
}

static void test_without_code_no_rule_is_corrected(void **state)
{
	code.size = 0;
	keeps(UNWIND_CFA_SP, 16, UNWIND_VALUE_AT_CFA, -16);
	keeps(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_CFA, -16);
	code.size = sizeof(bytes);
}

static void check_realigned(const void *last, size_t n, bool is_inferred)
{
	struct unwind_rule rule;

	behind(last, n);
	rule = infer(UNWIND_CFA_SP, 8, UNWIND_VALUE_AT_FP, 0);
	assert_int_equal(rule.fp, is_inferred ? UNWIND_VALUE_SAME : UNWIND_VALUE_AT_FP);
	assert_int_equal(holds_before, is_inferred ? 4 : 0);
}

static void test_a_realigned_frame(void **state)
{
	check_realigned("\x5d\x49\x8d\x62\xf8", 5, true); /* pop %rbp; lea -8(%r10), %rsp */
	check_realigned("\xc9\x49\x8d\x62\xf8", 5, true);
	check_realigned("\x5d\x49\x8d\x65\xf8", 5, true);  /* of %r13 */
	check_realigned("\x90\x49\x8d\x62\xf8", 5, false); /* nop */
	check_realigned("\x41\x5d\x49\x8d\x62\xf8", 6, false);
	check_realigned("\x5d", 1, false);
	behind("\x5d\x49\x8d\x62\xf8", 5);
	keeps(UNWIND_CFA_AT_FP, -8, UNWIND_VALUE_AT_FP, 0);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_push_and_leave),
		TEST(test_several_pops),
		TEST(test_the_top_slot_is_not_popped_yet),
		TEST(test_code_behind_a_return_has_its_frame_again),
		TEST(test_a_red_zone_slot_is_kept),
		TEST(test_another_slot_is_kept),
		TEST(test_a_restored_register_is_forgotten),
		TEST(test_other_frames_are_left_alone),
		TEST(test_large_offsets_do_not_overflow),
		TEST(test_a_slot_not_popped_by_code_is_kept),
		TEST(test_pops_of_other_registers_are_ignored),
		TEST(test_without_code_no_rule_is_corrected),
		TEST(test_a_realigned_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
