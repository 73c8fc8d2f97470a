/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and files of functions of PHP, as memory has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/php-function.h"

enum {
	SIZE = 184,
	LINE_AT = 176,
	NAME_AT = 8,
	CLASS_AT = 16,
	HEAD = 24,
	LENGTH_AT = 16,
	INTERNAL = 1,
	USER = 2
};

static const struct php_fields fields = {
	.function_size = SIZE,
	.function_line = LINE_AT,
	.function_name = NAME_AT,
	.function_class = CLASS_AT,
	.text = HEAD,
	.text_length = LENGTH_AT,
};

static struct {
	char bytes[8192];
	size_t size;
} made;

static void begin(uint8_t type, uint32_t line)
{
	memset(&made, 0, sizeof(made));
	made.bytes[0] = type;
	memcpy(made.bytes + LINE_AT, &line, sizeof(line));
	made.bytes[NAME_AT] = 1; /* an address */
	made.size = SIZE;
}

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

/* A string of `n` bytes, of which `n_read` were read. */
static void put_string(const char *text, uint64_t n, size_t n_read)
{
	char object[4096] = { 0 };

	memcpy(object + LENGTH_AT, &n, sizeof(n));
	memcpy(object + HEAD, text, n_read);
	put_piece(object, HEAD + n_read);
}

static void put_text(const char *text)
{
	put_string(text, strlen(text), strlen(text));
}

static void put_class(const char *name)
{
	static const char head[64];

	made.bytes[CLASS_AT] = 1;
	put_piece(head, sizeof(head));
	put_text(name);
}

static void put_no_class(void)
{
	put_piece(NULL, 0);
	put_piece(NULL, 0);
}

static struct php_function decode(void)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };
	struct php_function function;

	assert_true(php_function_decode(&fields, &record, &function));
	return function;
}

static void test_methods_and_functions(void **state)
{
	struct php_function function;

	begin(USER, 12);
	put_text("find");
	put_text("/srv/app/index.php");
	put_class("App\\Index");
	function = decode();
	assert_string_equal(function.text.name, "App\\Index::find");
	assert_string_equal(function.text.file, "/srv/app/index.php");
	assert_int_equal(function.first_line, 12);
	begin(USER, 3);
	put_text("helper");
	put_text("a.php");
	put_no_class();
	assert_string_equal(decode().text.name, "helper");
}

static void test_code_outside_of_functions(void **state)
{
	begin(USER, 1);
	made.bytes[NAME_AT] = 0;
	put_piece(NULL, 0);
	put_text("a.php");
	put_no_class();
	assert_string_equal(decode().text.name, "{main}");
	assert_string_equal(decode().text.file, "a.php");
}

static void test_what_was_not_in_memory_has_no_name(void **state)
{
	begin(USER, 1);
	put_piece(NULL, 0);
	put_text("a.php");
	put_no_class();
	assert_string_equal(decode().text.name, "");
	assert_string_equal(decode().text.file, "a.php");
	begin(USER, 1);
	made.bytes[CLASS_AT] = 1;
	put_text("find");
	put_text("a.php");
	put_no_class();
	assert_string_equal(decode().text.name, "");
}

/* What lies where others have the name of a file is something else. */
static void test_compiled_functions_have_no_file(void **state)
{
	begin(INTERNAL, 7);
	put_text("array_map");
	put_text("garbage");
	put_no_class();
	assert_string_equal(decode().text.name, "array_map");
	assert_string_equal(decode().text.file, "");
	assert_int_equal(decode().first_line, 0);
}

static void test_names_end(void **state)
{
	static char text[2000];
	struct php_function function;

	memset(text, 'x', sizeof(text));
	begin(USER, 1);
	put_string(text, UINT64_MAX, sizeof(text));
	put_string("class@anonymous\0/srv/a.php:3$0", 29, 29);
	put_class("class");
	function = decode();
	assert_int_equal(strlen(function.text.name), SCRIPT_TEXT_MAX - 1);
	assert_string_equal(function.text.file, "class@anonymous");
}

static void test_damaged_records_are_refused(void **state)
{
	begin(USER, 12);
	put_text("find");
	put_text("a.php");
	put_class("A");
	for (size_t size = 0; size < made.size - 8; size++) {
		char *copy = test_malloc(size ? size : 1);
		const struct wire_memory record = { .bytes = { copy, size } };
		struct php_function function;

		memcpy(copy, made.bytes, size);
		assert_false(php_function_decode(&fields, &record, &function));
		test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods_and_functions),
		cmocka_unit_test(test_code_outside_of_functions),
		cmocka_unit_test(test_what_was_not_in_memory_has_no_name),
		cmocka_unit_test(test_compiled_functions_have_no_file),
		cmocka_unit_test(test_names_end),
		cmocka_unit_test(test_damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
