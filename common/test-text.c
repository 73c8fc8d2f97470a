/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/text.h"

static void check(const char *text, const char *expected)
{
	char clean[64];

	assert_int_equal(text_clean(text, strlen(text), clean, sizeof(clean)), strlen(expected));
	assert_string_equal(clean, expected);
}

static void test_what_may_pass(void **state)
{
	check("", "");
	check("operator<< <int>(a, b)", "operator<< <int>(a, b)");
	check("größe→𝛌", "größe→𝛌");
}

static void test_what_may_not(void **state)
{
	check("a\033[31mred\n", "a?[31mred?");
	check("\x7f\x01", "??");
	check("\xc2\x85", "??");	   /* NEL, a C1 control */
	check("\xff\xfe", "??");	   /* never in UTF-8 */
	check("\xc0\xaf", "??");	   /* not the shortest form */
	check("\xed\xa0\x80", "???");	   /* a surrogate */
	check("\xf4\x90\x80\x80", "????"); /* beyond U+10FFFF */
	check("x\xe2\x86", "x??");	   /* cut short */
}

static void test_it_is_cut_between_characters(void **state)
{
	char clean[5];

	assert_int_equal(text_clean("abc→", 6, clean, sizeof(clean)), 3);
	assert_string_equal(clean, "abc");
	assert_int_equal(text_clean("abcdef", 6, clean, sizeof(clean)), 4);
	assert_string_equal(clean, "abcd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_may_pass),
		cmocka_unit_test(test_what_may_not),
		cmocka_unit_test(test_it_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
