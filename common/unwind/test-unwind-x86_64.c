/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls recognized before a return address (Intel SDM 2A, CALL and table 2-2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/unwind-arch.h"

static enum unwind_call call_between(const uint8_t *code, size_t size, const uint8_t *behind)
{
	uint8_t before[UNWIND_CODE_BEFORE];

	memset(before, 0x90, sizeof(before));
	memcpy(before + sizeof(before) - size, code, size);
	return unwind_x86_64.find_call_before(before, behind);
}

static enum unwind_call call_before(const uint8_t *code, size_t size)
{
	static const uint8_t nops[UNWIND_CODE_BEHIND] = { 0x90, 0x90, 0x90, 0x90, 0x90 };

	return call_between(code, size, nops);
}

#define CALL_BEFORE(...)                                                                           \
	call_before((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void test_direct_calls(void **state)
{
	assert_int_equal(CALL_BEFORE(0xe8, 1, 2, 3, 4), UNWIND_CALL_DIRECT);
	assert_int_equal(CALL_BEFORE(0xe8, 1, 2, 3, 4, 0x90), UNWIND_CALL_NONE);
	assert_int_equal(CALL_BEFORE(0xe9, 1, 2, 3, 4), UNWIND_CALL_NONE); /* jmp */
}

static void test_indirect_calls(void **state)
{
	assert_int_equal(CALL_BEFORE(0xff, 0xd0), UNWIND_CALL_INDIRECT);       /* *%rax */
	assert_int_equal(CALL_BEFORE(0x41, 0xff, 0xd3), UNWIND_CALL_INDIRECT); /* *%r11 */
	assert_int_equal(CALL_BEFORE(0xff, 0x17), UNWIND_CALL_INDIRECT);       /* *(%rdi) */
	assert_int_equal(CALL_BEFORE(0xff, 0x50, 8), UNWIND_CALL_INDIRECT);    /* *8(%rax) */
	assert_int_equal(CALL_BEFORE(0xff, 0x90, 1, 2, 3, 4), UNWIND_CALL_INDIRECT);
	assert_int_equal(CALL_BEFORE(0xff, 0x15, 1, 2, 3, 4), UNWIND_CALL_INDIRECT); /* %rip */
	assert_int_equal(CALL_BEFORE(0xff, 0x14, 0xd0), UNWIND_CALL_INDIRECT); /* (%rax,%rdx,8) */
	assert_int_equal(CALL_BEFORE(0xff, 0x14, 0xc5, 1, 2, 3, 4), UNWIND_CALL_INDIRECT);
	assert_int_equal(CALL_BEFORE(0xff, 0x54, 0x24, 8), UNWIND_CALL_INDIRECT); /* 8(%rsp) */
	assert_int_equal(CALL_BEFORE(0xff, 0x94, 0x24, 1, 2, 3, 4), UNWIND_CALL_INDIRECT);
}

static void test_other_instructions_are_no_calls(void **state)
{
	assert_int_equal(CALL_BEFORE(0xff, 0xe0), UNWIND_CALL_NONE);	   /* jmp *%rax */
	assert_int_equal(CALL_BEFORE(0xff, 0x50), UNWIND_CALL_NONE);	   /* truncated */
	assert_int_equal(CALL_BEFORE(0xff, 0x14), UNWIND_CALL_NONE);	   /* truncated */
	assert_int_equal(CALL_BEFORE(0xff, 0xd0, 0x90), UNWIND_CALL_NONE); /* followed by a byte */
	assert_int_equal(CALL_BEFORE(0xff, 0x50, 8, 0x90), UNWIND_CALL_NONE);
	assert_int_equal(CALL_BEFORE(0xc3), UNWIND_CALL_NONE);
}

/* gcc's and clang's call over pause; lfence; jmp and nops. */
static void test_a_call_over_a_speculation_trap_is_none(void **state)
{
	static const uint8_t trap[] = { 0xf3, 0x90, 0x0f, 0xae, 0xe8 };
	static const uint8_t gcc[] = { 0xe8, 7, 0, 0, 0 }, clang[] = { 0xe8, 11, 0, 0, 0 },
			     far[] = { 0xe8, 7, 1, 0, 0 };

	assert_int_equal(call_between(gcc, 5, trap), UNWIND_CALL_NONE);
	assert_int_equal(call_between(clang, 5, trap), UNWIND_CALL_NONE);
	assert_int_equal(call_between(far, 5, trap), UNWIND_CALL_DIRECT);
	assert_int_equal(call_before(gcc, 5), UNWIND_CALL_DIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_direct_calls),
		cmocka_unit_test(test_indirect_calls),
		cmocka_unit_test(test_other_instructions_are_no_calls),
		cmocka_unit_test(test_a_call_over_a_speculation_trap_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
