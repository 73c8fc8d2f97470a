/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, files and lines of Java's methods, as HotSpot's memory has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/hotspot-method.h"

enum {
	TYPE = 0x7000,
	ARCHIVED = 0x8000,
	METHOD_SIZE = 24,
	CONST_SIZE = 16,
	CODE_AT = 8,   /* in ConstMethod: bytes of bytecode, */
	FLAGS_AT = 12, /* and whether there are lines */
	LENGTH_AT = 4,
	TEXT_AT = 6,
};

static const struct hotspot_fields fields = {
	.method_type = TYPE,
	.method_archived = ARCHIVED,
	.method_size = METHOD_SIZE,
	.const_size = CONST_SIZE,
	.const_code = CODE_AT,
	.const_flags = FLAGS_AT,
	.text = TEXT_AT,
	.text_length = LENGTH_AT,
	.excluded = 1,
};

static struct {
	char bytes[4096];
	size_t size;
} made;

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

static void begin(uint64_t type)
{
	memset(&made, 0, sizeof(made));
	memcpy(made.bytes, &type, sizeof(type));
	made.size = METHOD_SIZE;
}

/* A method of `n` bytes of bytecode, with a table of lines behind. */
static void put_code(uint16_t n, const void *lines, size_t size)
{
	char code[512] = { 0 };

	memcpy(code + CODE_AT, &n, sizeof(n));
	code[FLAGS_AT] = size > 0;
	if (size)
		memcpy(code + CONST_SIZE + n, lines, size);
	put_piece(code, CONST_SIZE + n + size);
}

/* What is behind a text in memory is read with it. */
static void put_name(const char *text)
{
	char name[512];
	uint16_t length = strlen(text);

	memset(name, '#', sizeof(name));
	memcpy(name + LENGTH_AT, &length, sizeof(length));
	memcpy(name + TEXT_AT, text, length);
	put_piece(name, TEXT_AT + length + 20);
}

static void put_method(const char *class_name, const char *name, const char *file)
{
	put_piece("pool", 4);
	put_name(name);
	put_piece("class", 5);
	put_name(class_name);
	put_piece("pool", 4);
	put_name(file);
}

static bool decode(struct hotspot_method *ret)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };

	return hotspot_method_decode(&fields, &record, ret);
}

static void check_names(const char *class_name, const char *method, const char *file,
			const char *name, const char *path)
{
	struct hotspot_method found;

	begin(TYPE);
	put_code(4, NULL, 0);
	put_method(class_name, method, file);
	assert_true(decode(&found));
	assert_string_equal(found.text.name, name);
	assert_string_equal(found.text.file, path);
	assert_int_equal(hotspot_lines_find(&found.lines, 1), 0);
}

static void test_names_and_files(void **state)
{
	check_names("java/util/HashMap", "put", "HashMap.java", "java.util.HashMap.put",
		    "java/util/HashMap.java");
	check_names("Main", "<init>", "Main.java", "Main.<init>", "Main.java");
	check_names("Main", "run", "", "Main.run", "");
}

static void test_names_of_classes_made_at_run_time_have_no_address(void **state)
{
	check_names("a/B$$Lambda$17/0x0000000800c03840", "run", "", "a.B$$Lambda$17.run", "");
	check_names("B$$Lambda+0x00007f4004004228", "run", "", "B$$Lambda.run", "");
	/* These have none. */
	check_names("Cafe", "f", "", "Cafe.f", "");
	check_names("a/0xCafe", "f", "", "a.0xCafe.f", "");
	check_names("0x12", "f", "", "0x12.f", "");
	check_names("abc", "f", "", "abc.f", "");
}

static void test_methods_of_archives(void **state)
{
	struct hotspot_method found;

	begin(ARCHIVED);
	put_code(4, NULL, 0);
	put_method("A", "f", "");
	assert_true(decode(&found));
	assert_string_equal(found.text.name, "A.f");
	begin(TYPE + 8); /* another object */
	put_code(4, NULL, 0);
	put_method("A", "f", "");
	assert_false(decode(&found));
}

static void test_what_was_not_in_memory_has_no_name(void **state)
{
	struct hotspot_method found;

	begin(TYPE);
	put_code(4, NULL, 0);
	put_piece("pool", 4);
	put_name("f");
	put_piece("class", 5);
	put_piece(NULL, 0);
	put_piece(NULL, 0);
	put_piece(NULL, 0);
	assert_true(decode(&found));
	assert_string_equal(found.text.name, "");
	made.size -= 8; /* a record that is cut */
	assert_false(decode(&found));
}

static void test_lines(void **state)
{
	/* From byte 0 on 10 (as numbers: 0, 10), from 5 on 12, from 9 on 11 (as numbers: 4, -1). */
	static const uint8_t lines[] = { 0xff, 1 + 0, 1 + 20, 5 << 3 | 2, 0xff, 1 + 8, 1 + 1, 0 };
	static const uint8_t cut[] = { 2 << 3 | 2, 3 << 3 | 2, 0xff, 1 + 8 };
	struct hotspot_method found;

	begin(TYPE);
	put_code(12, lines, sizeof(lines));
	put_method("A", "f", "A.java");
	assert_true(decode(&found));
	assert_int_equal(hotspot_lines_find(&found.lines, 0), 0); /* not known */
	assert_int_equal(hotspot_lines_find(&found.lines, 1), 10);
	assert_int_equal(hotspot_lines_find(&found.lines, 5), 10);
	assert_int_equal(hotspot_lines_find(&found.lines, 6), 12);
	assert_int_equal(hotspot_lines_find(&found.lines, 10), 11);
	assert_int_equal(hotspot_lines_find(&found.lines, 12), 11);
	begin(TYPE);
	put_code(12, cut, sizeof(cut));
	put_method("A", "f", "A.java");
	assert_true(decode(&found));
	assert_int_equal(hotspot_lines_find(&found.lines, 5), 2);
	assert_int_equal(hotspot_lines_find(&found.lines, 6), 0); /* what is behind is not known */
}

static void test_long_names_are_cut(void **state)
{
	struct hotspot_method found;
	char name[400];

	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = 0;
	begin(TYPE);
	put_code(4, NULL, 0);
	put_method(name, name, name);
	assert_true(decode(&found));
	assert_int_equal(strlen(found.text.name), 2 * strlen(name) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_files),
		cmocka_unit_test(test_names_of_classes_made_at_run_time_have_no_address),
		cmocka_unit_test(test_methods_of_archives),
		cmocka_unit_test(test_what_was_not_in_memory_has_no_name),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
