/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and lines of code objects. The line table is that of CPython 3.12 for three lines of code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/cpython-code.h"

enum {
	CODE_SIZE = 200,
	FIRST_LINE = 10,
	COMPACT = 1 << 5,
	ASCII = 1 << 6,
	HEAD = 40, /* of a string, from 3.12 on */
	MORE = 16,
};

static const struct cpython_fields fields = {
	.object = 16,
	.text_kind = 2,
	.frame_copy = -1,
	.code_firstline = 68,
	.code_size = CODE_SIZE,
	.text = HEAD,
	.bytes = 32,
};

static struct {
	char bytes[4096];
	size_t size;
} made;

static void put(const void *bytes, size_t size)
{
	if (size)
		memcpy(made.bytes + made.size, bytes, size);
	made.size += size;
}

static void begin(void)
{
	const uint32_t line = FIRST_LINE;

	memset(&made, 0, sizeof(made));
	made.size = CODE_SIZE;
	memcpy(made.bytes + fields.code_firstline, &line, sizeof(line));
}

/* An object of `size` bytes, and zeros up to a multiple of 8. */
static void put_piece(const void *bytes, uint64_t size)
{
	put(&size, sizeof(size));
	put(bytes, size);
	made.size = (made.size + 7) & ~7UL;
}

static void put_text(const void *text, uint64_t n, unsigned int kind, unsigned int state)
{
	char object[512] = { 0 };
	size_t at = state & ASCII ? HEAD : HEAD + MORE;
	uint32_t bits = state | kind << 2;

	memcpy(object + 16, &n, sizeof(n));
	memcpy(object + 32, &bits, sizeof(bits));
	memcpy(object + at, text, n * kind);
	put_piece(object, at + n * kind);
}

static void put_lines(const uint8_t *lines, uint64_t n)
{
	char object[512] = { 0 };

	memcpy(object + 16, &n, sizeof(n));
	if (n)
		memcpy(object + 32, lines, n);
	put_piece(object, 32 + n);
}

static void decode(struct cpython_code *ret)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };

	assert_true(cpython_code_decode(&fields, &record, ret));
}

static void test_names_in_all_widths(void **state)
{
	static const uint8_t latin[] = { 'c', 'a', 'f', 0xe9 };
	static const uint16_t two[] = { 0x65e5, 0x672c };
	static const uint32_t four[] = { 0x1f40d, 'x', 0xd800, 0x110000 };
	struct cpython_code code;

	begin();
	put_text("main.<locals>.f", 15, 1, COMPACT | ASCII);
	put_text(latin, 4, 1, COMPACT);
	put_lines(NULL, 0);
	decode(&code);
	assert_string_equal(code.text.name, "main.<locals>.f");
	assert_string_equal(code.text.file, "caf\xc3\xa9");
	assert_int_equal(code.lines.first_line, FIRST_LINE);
	begin();
	put_text(two, 2, 2, COMPACT);
	put_text(four, 4, 4, COMPACT);
	put_lines(NULL, 0);
	decode(&code);
	assert_string_equal(code.text.name, "\xe6\x97\xa5\xe6\x9c\xac");
	assert_string_equal(code.text.file, "\xf0\x9f\x90\x8dx\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_lines_of_instructions(void **state)
{
	/*
	 * Two instructions of the first line (long form, no difference), three of the next line
	 * (one line further), one without a line, and two three lines back (no columns).
	 */
	static const uint8_t lines[] = { 0x80 | 14 << 3 | 1,
					 0x00,
					 0x00,
					 0x01,
					 0x02,
					 0x80 | 11 << 3 | 2,
					 0x05,
					 0x09,
					 0x80 | 15 << 3 | 0,
					 0x80 | 13 << 3 | 1,
					 0x07 };
	static const uint32_t expected[] = { 10, 10, 10, 11, 11, 11, 0, 8, 8, 0 };
	struct cpython_code code;

	begin();
	put_text("f", 1, 1, COMPACT | ASCII);
	put_text("f.py", 4, 1, COMPACT | ASCII);
	put_lines(lines, sizeof(lines));
	decode(&code);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		assert_int_equal(cpython_lines_find(&code.lines, i), expected[i]);
}

static void check_lines(enum cpython_line_form form, const void *bytes, size_t size, bool is_cut,
			const uint32_t *expected, size_t n)
{
	const struct script_lines lines = { form, bytes, size, is_cut, FIRST_LINE };

	for (size_t i = 0; i < n; i++)
		assert_int_equal(cpython_lines_find(&lines, i), expected[i]);
}

/* Two instructions of the first line, two of the next, one 200 lines further, the rest before. */
static void test_lines_of_3_9(void **state)
{
	static const uint8_t lnotab[] = { 4, 1, 4, 127, 0, 73, 2, (uint8_t)-128, 0, (uint8_t)-70 };
	static const uint32_t expected[] = { 10, 10, 10, 11, 11, 211, 13, 13 };
	static const uint32_t cut[] = { 10, 10, 10, 11, 11, 0 };

	check_lines(CPYTHON_LINES_LNOTAB, lnotab, sizeof(lnotab), false, expected, 8);
	check_lines(CPYTHON_LINES_LNOTAB, lnotab, 4, true, cut, 6);
}

/* Two instructions of the first line, one without a line, two of the line before. */
static void test_lines_of_3_10(void **state)
{
	static const uint8_t ranges[] = { 4, 0, 2, (uint8_t)-128, 4, (uint8_t)-1 };
	static const uint32_t expected[] = { 10, 10, 10, 0, 9, 9, 0 };

	check_lines(CPYTHON_LINES_RANGES, ranges, sizeof(ranges), false, expected, 7);
}

static void test_what_was_not_read(void **state)
{
	const uint64_t longer = 400;
	struct cpython_code code;
	struct wire_memory record;
	size_t file_at;

	begin();
	put_piece(NULL, 0);
	file_at = made.size + sizeof(uint64_t);
	put_text("f.py", 4, 1, COMPACT | ASCII);
	memcpy(made.bytes + file_at + 16, &longer, sizeof(longer));
	put_piece(NULL, 0);
	decode(&code);
	assert_string_equal(code.text.name, "");
	assert_string_equal(code.text.file, "f.py");
	assert_int_equal(code.lines.size, 0);
	for (size_t size = 0; size < CODE_SIZE + 16; size++) {
		record = (struct wire_memory){ .bytes = { made.bytes, size } };
		assert_false(cpython_code_decode(&fields, &record, &code));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_in_all_widths),
		cmocka_unit_test(test_lines_of_instructions),
		cmocka_unit_test(test_lines_of_3_9),
		cmocka_unit_test(test_lines_of_3_10),
		cmocka_unit_test(test_what_was_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
