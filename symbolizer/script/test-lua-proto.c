/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of Lua have their files and lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/lua-proto.h"

enum { SIZE = 128, LINE_AT = 44, HEAD = 24, SHORT_AT = 11, LONG_AT = 16, SHORT = 4, LONG = 20 };

static const struct lua_fields fields = {
	.proto_size = SIZE,
	.proto_line = LINE_AT,
	.text = HEAD,
	.text_short = SHORT_AT,
	.text_long = LONG_AT,
	.text_far = HEAD,
};

static struct {
	char bytes[8192];
	size_t size;
} made;
static struct script_code_text text;
static struct script_lines lines;

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

static void begin(uint32_t line, const char *source)
{
	char string[2048] = { 0 };
	uint64_t length = strlen(source);

	memset(&made, 0, sizeof(made));
	memcpy(made.bytes + LINE_AT, &line, sizeof(line));
	made.size = SIZE;
	string[8] = length > 40 ? LONG : SHORT;
	if (length > 40)
		memcpy(string + LONG_AT, &length, sizeof(length));
	else
		string[SHORT_AT] = length;
	memcpy(string + HEAD, source, length);
	put_piece(string, HEAD + length);
}

static int decode(void)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };

	free((void *)lines.bytes);
	return lua_proto_decode(&fields, &record, &text, &lines);
}

static void decode_as(uint32_t line, const char *source, const char *name, const char *file)
{
	begin(line, source);
	put_piece("\1", 1);
	assert_int_equal(decode(), 0);
	assert_string_equal(text.name, name);
	assert_string_equal(text.file, file);
}

static void test_functions_are_named_by_their_place(void **state)
{
	decode_as(12, "@/srv/a.lua", "function </srv/a.lua:12>", "/srv/a.lua");
	decode_as(0, "@/srv/a.lua", "main chunk </srv/a.lua>", "/srv/a.lua");
	decode_as(3, "=stdin", "function <stdin:3>", "");
	decode_as(3, "return function() end", "function <string:3>", "");
	decode_as(3, "@/srv/a/file/with/a/name/of/more/than/40/bytes.lua",
		  "function </srv/a/file/with/a/name/of/more/than/40/bytes.lua:3>",
		  "/srv/a/file/with/a/name/of/more/than/40/bytes.lua");
	decode_as(3, "", "", "");
}

/* From 5.5 on: a long text lies behind its address, if it is not elsewhere. */
static void test_texts_that_are_elsewhere(void **state)
{
	struct lua_fields far = fields;
	char string[64] = { [8] = LONG, [SHORT_AT] = -1, [LONG_AT] = 6 };
	const struct wire_memory record = { .bytes = { made.bytes, SIZE + 80 } };

	far.text_far = HEAD + 8;
	memcpy(string + far.text_far, "@a.lua", 6);
	for (int i = 0; i < 2; i++, string[SHORT_AT] = -2) {
		begin(3, "");
		made.size = SIZE;
		put_piece(string, 48);
		put_piece("\1", 1);
		free((void *)lines.bytes);
		assert_int_equal(lua_proto_decode(&far, &record, &text, &lines), 0);
		assert_string_equal(text.name, i ? "" : "function <a.lua:3>");
	}
}

static void test_lines_of_instructions(void **state)
{
	static const int8_t differences[] = { 1, 0, -2, -128, 1 };
	static const uint32_t marks[] = { 3, 200 };

	begin(10, "@a");
	put_piece(differences, sizeof(differences));
	put_piece(marks, sizeof(marks));
	assert_int_equal(decode(), 0);
	assert_int_equal(lua_lines_find(&lines, 0), 10);
	assert_int_equal(lua_lines_find(&lines, 1), 11);
	assert_int_equal(lua_lines_find(&lines, 3), 9);
	assert_int_equal(lua_lines_find(&lines, 4), 200);
	assert_int_equal(lua_lines_find(&lines, 5), 201);
	assert_int_equal(lua_lines_find(&lines, 6), 0);
	begin(10, "@a");
	put_piece(differences, sizeof(differences)); /* the mark was not read */
	assert_int_equal(decode(), 0);
	assert_int_equal(lua_lines_find(&lines, 3), 9);
	assert_int_equal(lua_lines_find(&lines, 4), 0);
}

static void test_damaged_records_are_refused(void **state)
{
	begin(10, "@a.lua");
	put_piece("\1\1\1\1\1\1\1\1", 8);
	for (size_t size = 0; size < made.size; size++) {
		char *copy = test_malloc(size ? size : 1);
		const struct wire_memory record = { .bytes = { copy, size } };

		memcpy(copy, made.bytes, size);
		free((void *)lines.bytes);
		assert_int_equal(lua_proto_decode(&fields, &record, &text, &lines), 1);
		test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_named_by_their_place),
		cmocka_unit_test(test_texts_that_are_elsewhere),
		cmocka_unit_test(test_lines_of_instructions),
		cmocka_unit_test(test_damaged_records_are_refused),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	free((void *)lines.bytes);
	return r;
}
