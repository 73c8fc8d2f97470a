/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/unwind/unwind-arch.h"

#define IS_WITHIN_AT(address, ...)                                                                 \
	({                                                                                         \
		static const unsigned char code_[] = { __VA_ARGS__ };                              \
		function_end_x86_64(code_, sizeof(code_), address);                                \
	})
#define IS_WITHIN(...) IS_WITHIN_AT(1, __VA_ARGS__)

/* musl's setjmp() is followed by a nop and the code that returns from a signal handler. */
static void test_padding_behind_a_return_is_an_end(void **state)
{
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x90));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0xcc, 0xcc));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x66, 0x90));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x0f, 0x1f, 0x00));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84));
}

static void test_a_return_within_code_is_no_end(void **state)
{
	assert_false(IS_WITHIN(0x31, 0xc0, 0xc3, 0x48, 0x89, 0xf8, 0xc3));
	assert_false(IS_WITHIN(0x90, 0x90, 0x31, 0xc0));
	assert_false(IS_WITHIN(0xc3));
	assert_false(function_end_x86_64(NULL, 0, 0));
}

static void test_an_aligned_address_behind_a_return_is_an_end(void **state)
{
	assert_true(IS_WITHIN_AT(0x100d, 0x31, 0xc0, 0xc3, 0x48));
	assert_false(IS_WITHIN_AT(0x100e, 0x31, 0xc0, 0xc3, 0x48));
	/* musl's fesetenv(): je, over the return. */
	assert_false(IS_WITHIN_AT(0x100d, 0x74, 0x01, 0xc3, 0x50));
	assert_false(IS_WITHIN_AT(0x1009, 0x0f, 0x84, 0x01, 0, 0, 0, 0xc3, 0x50));
	assert_true(IS_WITHIN_AT(0x100d, 0x74, 0x02, 0xc3, 0x50));
}

static void test_padding_after_a_noreturn_insn_is_an_end(void **state)
{
	assert_true(IS_WITHIN(0x0f, 0x0b, 0x90));	   /* ud2 */
	assert_true(IS_WITHIN(0xf4, 0x66, 0x90));	   /* hlt */
	assert_true(IS_WITHIN(0xff, 0xe0, 0xcc));	   /* jmp *%rax */
	assert_true(IS_WITHIN(0xe9, 0, 0x10, 0, 0, 0x90)); /* jmp, far ahead */
	assert_true(IS_WITHIN(0x90, 0xeb, 0xf0, 0x90));	   /* and backwards, to before the start */
	assert_false(IS_WITHIN(0xff, 0xd0, 0xcc));	   /* call *%rax */
}

static void test_a_jump_within_the_function_is_no_end(void **state)
{
	assert_false(IS_WITHIN(0xeb, 0x01, 0x90, 0x48));
	assert_false(IS_WITHIN(0xe9, 0x01, 0, 0, 0, 0x90, 0x48));
	assert_false(IS_WITHIN(0x48, 0xeb, 0xfe, 0x90));
	assert_false(IS_WITHIN(0xe9, 0x01, 0, 0));
	assert_false(IS_WITHIN(0xeb));
	assert_false(IS_WITHIN(0xff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padding_behind_a_return_is_an_end),
		cmocka_unit_test(test_a_return_within_code_is_no_end),
		cmocka_unit_test(test_an_aligned_address_behind_a_return_is_an_end),
		cmocka_unit_test(test_padding_after_a_noreturn_insn_is_an_end),
		cmocka_unit_test(test_a_jump_within_the_function_is_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
