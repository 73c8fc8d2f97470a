/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"

static void check(const char *text, const char *expected)
{
	char clean[64];

	assert_int_equal(text_clean(text, strlen(text), clean, sizeof(clean)), strlen(expected));
	assert_string_equal(clean, expected);
}

static void test_printable_text_is_unchanged(void **state)
{
	check("", "");
	check("operator<< <int>(a, b)", "operator<< <int>(a, b)");
	check("größe→𝛌", "größe→𝛌");
}

static void test_control_characters_are_escaped(void **state)
{
	check("a\033[31mred\n", "a\\u{1b}[31mred\\u{a}");
	check("\x7f\x01", "\\u{7f}\\u{1}");
	check("\xc2\x85", "\\u{85}"); /* NEL, a C1 control character */
	check("a\xc2\xa0z", "a\xc2\xa0z");
}

static void test_invalid_utf8_is_escaped(void **state)
{
	check("\xff\xfe", "\\x{ff}\\x{fe}");			   /* never valid in UTF-8 */
	check("\xc0\xaf", "\\x{c0}\\x{af}");			   /* overlong form */
	check("\xed\xa0\x80", "\\x{ed}\\x{a0}\\x{80}");		   /* surrogate */
	check("\xf4\x90\x80\x80", "\\x{f4}\\x{90}\\x{80}\\x{80}"); /* beyond U+10FFFF */
	check("x\xe2\x86", "x\\x{e2}\\x{86}");			   /* truncated */
}

/* Ranges of code points to escape; their neighbours pass unchanged. */
static const struct {
	uint32_t first, last;
} ranges[] = {
	{ 0x80, 0x9f },	    { 0x61c, 0x61c },	  { 0x200b, 0x200f },	{ 0x2028, 0x202e },
	{ 0x2060, 0x2069 }, { 0xfdd0, 0xfdef },	  { 0xfeff, 0xfeff },	{ 0xfff9, 0xfffb },
	{ 0xfffe, 0xffff }, { 0x1fffe, 0x1ffff }, { 0xe0000, 0xe007f }, { 0x10fffe, 0x10ffff },
};

static size_t encode(uint32_t code, char ret[5])
{
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	ret[n] = 0;
	for (size_t i = n - 1; i; i--, code >>= 6)
		ret[i] = 0x80 | (code & 0x3f);
	ret[0] = n == 1 ? code : (0xf00 >> n & 0xff) | code;
	return n;
}

static bool is_escaped(uint32_t code)
{
	char text[5], clean[64], expected[64];

	encode(code, text);
	text_clean(text, strlen(text), clean, sizeof(clean));
	snprintf(expected, sizeof(expected), "\\u{%x}", code);
	if (!strcmp(clean, expected))
		return true;
	assert_string_equal(clean, text);
	return false;
}

static void test_bidi_and_format_characters_are_escaped(void **state)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		for (uint32_t code = ranges[i].first; code <= ranges[i].last; code++)
			assert_true(is_escaped(code));
	for (uint32_t code = 0xa0; code < 0x110000; code++) {
		bool expected = false;

		if (code >= 0xd800 && code < 0xe000)
			continue;
		for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
			expected |= code >= ranges[i].first && code <= ranges[i].last;
		if (!expected && (code & 0xfffe) != 0xfffe)
			assert_false(is_escaped(code));
	}
	check("main\xe2\x80\xae"
	      "txt",
	      "main\\u{202e}txt");
}

static void test_escapes_are_not_escaped_again(void **state)
{
	check("main\\u{202e}txt \\x{ff} \\ \\u{", "main\\u{202e}txt \\x{ff} \\ \\u{");
}

static void test_output_fits_its_buffer(void **state)
{
	char text[256], clean[TEXT_CLEAN_SIZE(sizeof(text))];
	size_t taken;

	for (int i = 0; i < 256; i++) {
		memset(text, i, sizeof(text));
		text_clean_most(text, sizeof(text), clean, sizeof(clean), &taken);
		assert_int_equal(taken, sizeof(text));
	}
	for (uint32_t code = 0x80; code < 0x110000; code++)
		if (code < 0xd800 || code >= 0xe000) {
			size_t n = encode(code, text);

			text_clean_most(text, n, clean, TEXT_CLEAN_SIZE(n), &taken);
			assert_int_equal(taken, n);
		}
}

static void test_text_is_cut_between_characters(void **state)
{
	char clean[5];

	assert_int_equal(text_clean("abc→", 6, clean, sizeof(clean)), 3);
	assert_string_equal(clean, "abc");
	assert_int_equal(text_clean("abcdef", 6, clean, sizeof(clean)), 4);
	assert_string_equal(clean, "abcd");
	assert_int_equal(text_clean("a\n", 2, clean, sizeof(clean)), 1); /* nor within an escape */
	assert_string_equal(clean, "a");
	assert_int_equal(text_clean("", 0, clean, 1), 0);
	assert_int_equal(text_clean("a", 1, clean, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printable_text_is_unchanged),
		cmocka_unit_test(test_control_characters_are_escaped),
		cmocka_unit_test(test_invalid_utf8_is_escaped),
		cmocka_unit_test(test_bidi_and_format_characters_are_escaped),
		cmocka_unit_test(test_escapes_are_not_escaped_again),
		cmocka_unit_test(test_output_fits_its_buffer),
		cmocka_unit_test(test_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
