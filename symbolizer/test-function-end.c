/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbolizer/function-end.h"

#define IS_WITHIN(...)                                                                             \
	({                                                                                         \
		static const unsigned char code_[] = { __VA_ARGS__ };                              \
		function_end_is_within(code_, sizeof(code_));                                      \
	})

/* musl's setjmp(), and behind it, after a nop, what returns from a signal's handler. */
static void test_padding_behind_a_return_is_an_end(void **state)
{
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x90));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0xcc, 0xcc));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x66, 0x90));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x0f, 0x1f, 0x00));
	assert_true(IS_WITHIN(0x31, 0xc0, 0xc3, 0x66, 0x2e, 0x0f, 0x1f, 0x84));
}

static void test_a_return_in_the_midst_is_none(void **state)
{
	assert_false(IS_WITHIN(0x31, 0xc0, 0xc3, 0x48, 0x89, 0xf8, 0xc3));
	assert_false(IS_WITHIN(0x90, 0x90, 0x31, 0xc0));
	assert_false(IS_WITHIN(0xc3));
	assert_false(function_end_is_within(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padding_behind_a_return_is_an_end),
		cmocka_unit_test(test_a_return_in_the_midst_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
