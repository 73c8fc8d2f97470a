/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of LuaJIT have their files and lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/lua-proto.h"
#include "symbolizer/script/luajit-proto.h"

enum { SIZE = 104, LINE_AT = 72, LINES_AT = 76, HEAD = 24, LENGTH_AT = 20 };

static const struct luajit_fields fields = {
	.proto_size = SIZE,
	.proto_line = LINE_AT,
	.proto_lines = LINES_AT,
	.text = HEAD,
	.text_length = LENGTH_AT,
};

static struct {
	char bytes[2048];
	size_t size;
} made;
static struct script_code_text text;
static struct script_lines lines;

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

static void make(uint32_t line, uint32_t n_lines, const char *source, const void *of, size_t size)
{
	char string[256] = { 0 };
	uint32_t length = strlen(source);

	memset(&made, 0, sizeof(made));
	memcpy(made.bytes + LINE_AT, &line, sizeof(line));
	memcpy(made.bytes + LINES_AT, &n_lines, sizeof(n_lines));
	made.size = SIZE;
	memcpy(string + LENGTH_AT, &length, sizeof(length));
	memcpy(string + HEAD, source, length);
	put_piece(string, HEAD + length);
	put_piece(of, size);
}

static int decode(const void *bytes, size_t size)
{
	const struct wire_memory record = { .bytes = { bytes, size } };

	free((void *)lines.bytes);
	return luajit_proto_decode(&fields, &record, &text, &lines);
}

static void decode_as(uint32_t line, const char *source, const char *name, const char *file)
{
	make(line, 3, source, "\1", 1);
	assert_int_equal(decode(made.bytes, made.size), 0);
	assert_string_equal(text.name, name);
	assert_string_equal(text.file, file);
}

static void test_functions_are_named_by_their_place(void **state)
{
	decode_as(12, "@/srv/a.lua", "function </srv/a.lua:12>", "/srv/a.lua");
	decode_as(0, "@/srv/a.lua", "main chunk </srv/a.lua>", "/srv/a.lua");
	decode_as(3, "=stdin", "function <stdin:3>", "");
	decode_as(3, "@a.lua\nrest", "function <a.lua:3>", "a.lua");
}

static void check_lines(const uint32_t wanted[3])
{
	assert_int_equal(decode(made.bytes, made.size), 0);
	assert_int_equal(lua_lines_find(&lines, 0), lines.first_line);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(lua_lines_find(&lines, i + 1), wanted[i]);
	assert_int_equal(lua_lines_find(&lines, 4), 0);
}

/* Each line has as few bytes as all need. */
static void test_lines_of_instructions(void **state)
{
	static const uint8_t bytes[] = { 1, 0, 255 };
	static const uint16_t halves[] = { 1, 0, 300 };
	static const uint32_t words[] = { 1, 0, 70000 };

	make(10, 255, "@a", bytes, sizeof(bytes));
	check_lines((const uint32_t[]){ 11, 10, 265 });
	make(10, 256, "@a", halves, sizeof(halves));
	check_lines((const uint32_t[]){ 11, 10, 310 });
	make(10, 65536, "@a", words, sizeof(words));
	check_lines((const uint32_t[]){ 11, 10, 70010 });
}

static void test_damaged_records_are_refused(void **state)
{
	make(10, 3, "@a.lua", "\1\1\1\1\1\1\1\1", 8);
	for (size_t size = 0; size < made.size; size++) {
		char *copy = test_malloc(size ? size : 1);

		memcpy(copy, made.bytes, size);
		assert_int_equal(decode(copy, size), 1);
		test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_named_by_their_place),
		cmocka_unit_test(test_lines_of_instructions),
		cmocka_unit_test(test_damaged_records_are_refused),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	free((void *)lines.bytes);
	return r;
}
