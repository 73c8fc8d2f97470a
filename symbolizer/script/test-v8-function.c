/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and files of functions of JavaScript, as memory has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <uchar.h>

#include <cmocka.h>

#include "symbolizer/script/v8-function.h"

enum {
	SIZE = 72,
	MAP_SIZE = 16,
	TYPE_AT = 12,
	FUNCTION_TYPE = 0x112,
	CODE_TYPE = 0xce,
	/* Of strings. */
	LENGTH_AT = 12,
	TEXT_AT = 16,
	TWO_BYTE = 0x20, /* not internalized */
	ONE_BYTE = 0x28,
	INTERNALIZED = 0x08,
	CONS = 0x29,
	THIN = 0x2d,
	NO_STRING = 0x83,
	SCRIPT_AT = 40,
	LINE_AT = 24, /* small integers are the upper halves of words */
	FLAGS_AT = 12,
	SCOPE_FUNCTION = 2,
	NAME = 0x1001, /* an address */
	POSITION = 1234,
	LINE = 7,
};

static const struct v8_fields fields = {
	.function_size = SIZE,
	.function_type = FUNCTION_TYPE,
	.function_script = SCRIPT_AT,
	.script_line = LINE_AT,
	.scope_position = -1,
	.scope_flags = FLAGS_AT,
	.scope_function = SCOPE_FUNCTION,
	.map_type = TYPE_AT,
};

/* A string of `n` characters, of whose text some bytes were read; without text: not in memory. */
struct string {
	uint16_t type;
	const void *text;
	uint32_t n;
	size_t n_read;
};

#define LATIN(text)                                                                                \
	{                                                                                          \
		ONE_BYTE, text, sizeof(text) - 1, sizeof(text) - 1                                 \
	}
#define WIDE(text)                                                                                 \
	{                                                                                          \
		TWO_BYTE, text, sizeof(text) / sizeof(char16_t) - 1,                               \
			sizeof(text) - sizeof(char16_t)                                            \
	}

/* What a function leads to. */
struct parts {
	struct string name, inferred, file, actual, last;
};

static struct {
	char bytes[16384];
	size_t size;
} made;

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

static void put_map(uint16_t type)
{
	char map[MAP_SIZE] = { 0 };

	memcpy(map + TYPE_AT, &type, sizeof(type));
	put_piece(map, sizeof(map));
}

/* A string, and its map. */
static void put_string(const struct string *string)
{
	char object[4096] = { 0 };

	if (!string->text) {
		put_piece(NULL, 0);
		put_piece(NULL, 0);
		return;
	}
	memcpy(object + LENGTH_AT, &string->n, sizeof(string->n));
	memcpy(object + TEXT_AT, string->text, string->n_read);
	put_piece(object, TEXT_AT + string->n_read);
	put_map(string->type);
}

/* A scope, the function's script, where that begins, and where the function begins in it. */
static uint64_t scope[8] = { [1] = (uint64_t)(0x100 | SCOPE_FUNCTION) << 32 },
		script_address = 0x10001, script_identity = 99,
		script[9] = { [3] = (uint64_t)LINE << 32 },
		words[5] = { NAME, 0, NAME, (uint64_t)POSITION << 32, 2000ULL << 32 };

static void make(const struct parts *parts)
{
	memset(&made, 0, sizeof(made));
	made.size = SIZE;
	memcpy(made.bytes + SCRIPT_AT, &script_address, sizeof(script_address));
	put_map(FUNCTION_TYPE);
	put_piece(scope, sizeof(scope));
	put_string(&parts->name);
	put_string(&parts->inferred);
	put_piece(script, sizeof(script));
	put_string(&parts->file);
	put_string(&parts->actual);
	put_string(&parts->last);
	put_piece(words, sizeof(words));
	put_piece(&script_identity, sizeof(script_identity));
}

static struct script_code_text decode(const struct parts *parts)
{
	struct wire_memory record = { .bytes = { made.bytes, 0 } };
	struct script_code_text text;
	struct script_origin origin;

	make(parts);
	record.bytes.size = made.size;
	assert_true(v8_function_decode(&fields, &record, &text, &origin));
	return text;
}

static void check_name(const struct string *name, const char *expected)
{
	const struct parts parts = { .name = *name };

	assert_string_equal(decode(&parts).name, expected);
}

static void test_names_become_utf8(void **state)
{
	const struct string latin = LATIN("caf\xe9"), greek = WIDE(u"\u03c0_\u20ac"),
			    beyond = WIDE(u"a\U0001f40dz"), highest = WIDE(u"\U0010ffff");
	struct string internalized = LATIN("find");

	internalized.type = INTERNALIZED;
	check_name(&internalized, "find");
	check_name(&latin, "caf\xc3\xa9");
	check_name(&greek, "\xcf\x80_\xe2\x82\xac");
	check_name(&beyond, "a\xf0\x9f\x90\x8dz");
	check_name(&highest, "\xf4\x8f\xbf\xbf");
}

/* They are no characters, and UTF-8 has no form for them. */
static void test_surrogates_without_the_other_one_are_replaced(void **state)
{
	static const char16_t low[] = { 0xdc00, 'x', 0 }, high[] = { 0xd83d, 'x', 0 },
			      last[] = { 'x', 0xd83d, 0 }, twice[] = { 0xd83d, 0xd83d, 0xdc0d, 0 };
	const struct string low_first = WIDE(low), high_first = WIDE(high), high_last = WIDE(last),
			    one_too_many = WIDE(twice);

	check_name(&low_first, "\xef\xbf\xbdx");
	check_name(&high_first, "\xef\xbf\xbdx");
	check_name(&high_last, "x\xef\xbf\xbd");
	check_name(&one_too_many, "\xef\xbf\xbd\xf0\x9f\x90\x8d");
}

static void test_names_end_where_reading_did(void **state)
{
	struct string name = LATIN("findUser");

	name.n_read = 4;
	check_name(&name, "find");
	name = (struct string)WIDE(u"\u03c0\u03c0\u03c0");
	name.n_read = 5; /* half of the last character is missing */
	check_name(&name, "\xcf\x80\xcf\x80");
	name = (struct string)LATIN("find, and what was there before");
	name.n = 4;
	check_name(&name, "find");
}

static void test_names_have_a_limit(void **state)
{
	static char16_t text[1200];
	const struct parts parts = { .name = WIDE(text) };
	struct script_code_text decoded;

	for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
		text[i] = 0x20ac;
	decoded = decode(&parts);
	assert_in_range(strlen(decoded.name), SCRIPT_TEXT_MAX - 2 * 4, SCRIPT_TEXT_MAX - 1);
	assert_int_equal(strlen(decoded.name) % 3, 0); /* whole characters */
}

static void test_functions_without_a_name_have_the_inferred_one(void **state)
{
	const struct parts inferred = { .name = LATIN(""), .inferred = LATIN("App.onClick") },
			   named = { .name = LATIN("find"), .inferred = LATIN("App.find") },
			   none = { .name = LATIN(""), .inferred = LATIN("") },
			   absent = { .name = LATIN("") };

	assert_string_equal(decode(&inferred).name, "App.onClick");
	assert_string_equal(decode(&named).name, "find");
	assert_string_equal(decode(&none).name, "(anonymous)");
	assert_string_equal(decode(&absent).name, "(anonymous)");
}

/* A function whose name is not known may have one: the inferred one is not its. */
static void test_what_was_not_in_memory_has_no_name(void **state)
{
	const struct parts parts = { .inferred = LATIN("App.onClick"), .file = LATIN("/a.js") };

	assert_string_equal(decode(&parts).name, "");
	assert_string_equal(decode(&parts).file, "/a.js");
}

static void test_a_file_is_the_text_or_what_it_leads_to(void **state)
{
	struct parts parts = { .file = LATIN("file:///srv/app.mjs"), .actual = LATIN("garbage") };

	assert_string_equal(decode(&parts).file, "file:///srv/app.mjs");
	parts.file = (struct string)LATIN("\x01\x02\x03\x04\x05\x06\x07\x08");
	parts.file.type = THIN;
	parts.actual = (struct string)WIDE(u"/srv/\u03c0.js");
	assert_string_equal(decode(&parts).file, "/srv/\xcf\x80.js");
	parts.actual.type = NO_STRING;
	assert_string_equal(decode(&parts).file, "");
	parts.actual.text = NULL;
	assert_string_equal(decode(&parts).file, "");
}

/* One made of parts has the text of the first if that has all of it, as it is once it was read. */
static void test_a_file_may_lead_to_what_leads_to_it(void **state)
{
	struct parts parts = { .file = LATIN("12345678"),
			       .actual = LATIN("abcdefgh"),
			       .last = LATIN("/srv/b.js") };

	parts.file.type = CONS;
	assert_string_equal(decode(&parts).file, "abcdefgh");
	parts.actual.type = THIN;
	assert_string_equal(decode(&parts).file, "/srv/b.js");
	parts.last.type = THIN;
	assert_string_equal(decode(&parts).file, "");
	parts.actual.type = ONE_BYTE;
	assert_string_equal(decode(&parts).file, "abcdefgh");
	parts.file.n++; /* there is a second part */
	assert_string_equal(decode(&parts).file, "");
}

static void test_other_strings_have_no_text(void **state)
{
	struct parts parts = { .name = LATIN("garbage"),
			       .file = LATIN("garbage and more"),
			       .actual = LATIN("garbage") };

	parts.file.type = parts.name.type = CONS;
	assert_string_equal(decode(&parts).name, "");
	assert_string_equal(decode(&parts).file, "");
	parts.file.type = NO_STRING; /* undefined: code of eval() */
	assert_string_equal(decode(&parts).file, "");
	parts.file.type = NO_STRING | THIN;
	assert_string_equal(decode(&parts).file, "");
}

static bool is_decoded(const char *bytes, size_t size)
{
	const struct wire_memory record = { .bytes = { bytes, size } };
	struct script_code_text text;
	struct script_origin origin;

	return v8_function_decode(&fields, &record, &text, &origin);
}

static void test_other_objects_are_refused(void **state)
{
	const struct parts parts = { .name = LATIN("find") };
	static const char zeros[1024];
	const uint16_t type = CODE_TYPE;

	make(&parts);
	assert_true(is_decoded(made.bytes, made.size));
	memcpy(made.bytes + SIZE + sizeof(uint64_t) + TYPE_AT, &type, sizeof(type));
	assert_false(is_decoded(made.bytes, made.size));
	assert_false(is_decoded(zeros, sizeof(zeros)));
	memset(made.bytes, 0xff, sizeof(made.bytes));
	assert_false(is_decoded(made.bytes, sizeof(made.bytes)));
}

static void test_damaged_records_are_refused(void **state)
{
	const struct parts parts = { .name = LATIN("find"),
				     .inferred = LATIN("A.find"),
				     .file = LATIN("/a.js"),
				     .actual = LATIN("/b.js") };

	make(&parts);
	assert_true(is_decoded(made.bytes, made.size));
	for (size_t size = 0; size < made.size; size++) {
		char *copy = test_malloc(size ? size : 1);

		memcpy(copy, made.bytes, size);
		assert_false(is_decoded(copy, size));
		test_free(copy);
	}
}

static struct script_origin origin_of(const struct v8_fields *of, const char *name)
{
	const struct parts parts = { .name = LATIN("find") };
	struct wire_memory record = { .process = 5, .bytes = { made.bytes, 0 } };
	struct script_code_text text;
	struct script_origin origin;

	make(&parts);
	record.bytes.size = made.size;
	assert_true(v8_function_decode(of, &record, &text, &origin));
	assert_string_equal(text.name, name);
	return origin;
}

static void test_a_function_begins_in_its_script(void **state)
{
	const struct script_origin origin = origin_of(&fields, "find");

	assert_int_equal(origin.source.process, 5);
	assert_int_equal(origin.source.owner, script_address - 1);
	assert_int_equal(origin.source.identity, script_identity);
	assert_int_equal(origin.position, POSITION);
	assert_int_equal(origin.first_line, LINE);
}

/* The scope of a module, or of what was given to eval(), has something else there. */
static void test_what_is_no_function_begins_with_the_text(void **state)
{
	const uint64_t known = scope[1];
	struct script_origin origin;

	scope[1] = (uint64_t)(0x100 | (SCOPE_FUNCTION + 1)) << 32;
	origin = origin_of(&fields, "(anonymous)");
	assert_int_equal(origin.position, 0);
	assert_int_equal(origin.source.owner, script_address - 1);
	scope[1] = known;
}

static void test_what_is_no_position_is_not_taken_for_one(void **state)
{
	const uint64_t known = words[3];

	words[3] = 0x12345001; /* an address */
	assert_int_equal(origin_of(&fields, "find").source.owner, 0);
	words[3] = words[4] + (1ULL << 32); /* behind the end */
	assert_int_equal(origin_of(&fields, "find").source.owner, 0);
	words[3] = known;
}

static void test_a_scope_may_have_the_position_in_front(void **state)
{
	struct v8_fields in_front = fields;

	in_front.scope_position = 32;
	scope[4] = 20ULL << 32;
	scope[5] = 30ULL << 32;
	assert_int_equal(origin_of(&in_front, "find").position, 20);
	scope[4] = scope[5] = 0;
}

/* V8 has zero instead of a name that is computed as the function is made. */
static void test_computed_names_are_those_of_the_parser(void **state)
{
	const struct parts parts = { .inferred = LATIN("App.<computed>") };

	words[0] = 0;
	assert_string_equal(decode(&parts).name, "App.<computed>");
	assert_string_equal(decode(&(struct parts){ .file = LATIN("/a.js") }).name, "(anonymous)");
	words[0] = NAME;
}

static void test_older_recordings_do_not_tell(void **state)
{
	struct v8_fields older = fields;

	older.script_line = -1;
	assert_int_equal(origin_of(&older, "find").source.owner, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_become_utf8),
		cmocka_unit_test(test_surrogates_without_the_other_one_are_replaced),
		cmocka_unit_test(test_names_end_where_reading_did),
		cmocka_unit_test(test_names_have_a_limit),
		cmocka_unit_test(test_functions_without_a_name_have_the_inferred_one),
		cmocka_unit_test(test_what_was_not_in_memory_has_no_name),
		cmocka_unit_test(test_a_file_is_the_text_or_what_it_leads_to),
		cmocka_unit_test(test_a_file_may_lead_to_what_leads_to_it),
		cmocka_unit_test(test_other_strings_have_no_text),
		cmocka_unit_test(test_other_objects_are_refused),
		cmocka_unit_test(test_damaged_records_are_refused),
		cmocka_unit_test(test_a_function_begins_in_its_script),
		cmocka_unit_test(test_what_is_no_function_begins_with_the_text),
		cmocka_unit_test(test_what_is_no_position_is_not_taken_for_one),
		cmocka_unit_test(test_a_scope_may_have_the_position_in_front),
		cmocka_unit_test(test_computed_names_are_those_of_the_parser),
		cmocka_unit_test(test_older_recordings_do_not_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
