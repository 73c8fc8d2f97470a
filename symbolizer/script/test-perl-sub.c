/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subs of Perl have their names and files, and code outside of them its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/perl-sub.h"

enum {
	SUB_SIZE = 24,
	BODY_SIZE = 104,
	STASH_SIZE = 64,
	COP_SIZE = 56,
	FLAGS_AT = 92,
	COUNT_AT = 60,
	HAS_NAME = 0x8000,
};

static struct perl_fields fields = {
	.sub_size = SUB_SIZE,
	.sub_body = BODY_SIZE,
	.sub_flags = FLAGS_AT,
	.sub_count = COUNT_AT,
	.cop_size = COP_SIZE,
};

static struct {
	char bytes[8192];
	size_t size;
} made;

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

/* A name of `length` characters, of which so many are there. */
static void put_key(const char *text, uint32_t length, size_t n_read)
{
	char key[512] = { 0 };

	memcpy(key + 4, &length, sizeof(length));
	memcpy(key + 8, text, n_read);
	put_piece(key, 8 + n_read);
}

static void put_name(const char *text)
{
	put_key(text, strlen(text), strlen(text));
}

/* A package of several names has an array of them, of which the first counts. */
static void put_package(const char *text, uint32_t n_names)
{
	char head[24] = { 0 }, body[STASH_SIZE] = { 0 };

	memcpy(body + COUNT_AT, &n_names, sizeof(n_names));
	put_piece(head, sizeof(head));
	put_piece(body, sizeof(body));
	if (n_names)
		put_piece(head, 8);
	else
		put_name(text);
	if (n_names)
		put_name(text);
	else
		put_piece(NULL, 0);
}

static void begin(uint32_t flags)
{
	char body[BODY_SIZE] = { 0 };

	memset(&made, 0, sizeof(made));
	made.size = SUB_SIZE;
	memcpy(body + FLAGS_AT, &flags, sizeof(flags));
	put_piece(body, sizeof(body));
}

/* A sub whose name is that of a glob. */
static void make_sub(const char *package, uint32_t n_names, const char *name)
{
	char glob[48] = { 0 };

	begin(0);
	put_piece(glob, 24);
	put_piece(glob, sizeof(glob));
	put_name(name);
	put_package(package, n_names);
	put_package("Elsewhere", 0);
	put_piece("/srv/lib/A.pm\0garbage", 21);
}

static struct script_code_text decode(void)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };
	struct script_code_text text;

	perl_sub_decode(&fields, &record, &text);
	return text;
}

static void test_names_of_globs(void **state)
{
	make_sub("A::B", 0, "find");
	assert_string_equal(decode().name, "A::B::find");
	assert_string_equal(decode().file, "/srv/lib/A.pm");
	make_sub("A::B", 2, "find");
	assert_string_equal(decode().name, "A::B::find");
}

static void test_names_of_subs(void **state)
{
	begin(HAS_NAME);
	put_name("helper");
	put_piece(NULL, 0);
	put_piece(NULL, 0);
	put_package("Elsewhere", 0);
	put_package("A", 0);
	put_piece("a.pl", 5);
	assert_string_equal(decode().name, "A::helper");
	assert_string_equal(decode().file, "a.pl");
}

/* Without threads a position has a glob, whose name is that of the file behind a mark. */
static void make_position_with_glob(const char *name)
{
	char glob[48] = { 0 };

	memset(&made, 0, sizeof(made));
	made.size = COP_SIZE;
	put_piece(glob, 24);
	put_piece(glob, sizeof(glob));
	put_name(name);
}

static void test_files_of_globs(void **state)
{
	fields.interpreter_cop = -1;
	make_position_with_glob("_</srv/lib/A.pm");
	assert_string_equal(decode().name, "{main}");
	assert_string_equal(decode().file, "/srv/lib/A.pm");
	make_position_with_glob("_<(eval 7)");
	assert_string_equal(decode().name, "{eval}");
	make_position_with_glob("main::other");
	assert_string_equal(decode().name, "");
	assert_string_equal(decode().file, "");
	made.size -= 16;
	assert_string_equal(decode().file, "");
	fields.interpreter_cop = 0;
}

static void test_what_was_not_in_memory_has_no_name(void **state)
{
	make_sub("A", 0, "");
	assert_string_equal(decode().name, "");
	make_sub("", 0, "find");
	assert_string_equal(decode().name, "");
	assert_string_equal(decode().file, "/srv/lib/A.pm");
}

static void make_position(const char *file, size_t size)
{
	memset(&made, 0, sizeof(made));
	made.size = COP_SIZE;
	put_piece(file, size);
}

static void test_code_outside_of_subs(void **state)
{
	make_position("a.pl\0x", 6);
	assert_string_equal(decode().name, "{main}");
	assert_string_equal(decode().file, "a.pl");
	make_position("(eval 3)", 9);
	assert_string_equal(decode().name, "{eval}");
	make_position(NULL, 0);
	assert_string_equal(decode().name, "");
}

static void test_names_end(void **state)
{
	char text[SCRIPT_TEXT_MAX + 8], glob[48] = { 0 };

	memset(text, 'x', sizeof(text));
	begin(0);
	put_piece(glob, 24);
	put_piece(glob, sizeof(glob));
	put_key(text, UINT32_MAX, 200);
	put_package("A", 0);
	put_package("Elsewhere", 0);
	put_piece(text, sizeof(text));
	assert_int_equal(strlen(decode().name), strlen("A::") + 200);
	assert_int_equal(strlen(decode().file), SCRIPT_TEXT_MAX - 1);
}

static void test_damaged_records_have_no_name(void **state)
{
	make_sub("A", 0, "find");
	for (size_t size = 0; size < made.size - 24; size++) {
		char *copy = test_malloc(size ? size : 1);
		const struct wire_memory record = { .bytes = { copy, size } };
		struct script_code_text text;

		memcpy(copy, made.bytes, size);
		perl_sub_decode(&fields, &record, &text);
		assert_true(strcmp(text.name, "A::find"));
		test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_globs),
		cmocka_unit_test(test_names_of_subs),
		cmocka_unit_test(test_files_of_globs),
		cmocka_unit_test(test_what_was_not_in_memory_has_no_name),
		cmocka_unit_test(test_code_outside_of_subs),
		cmocka_unit_test(test_names_end),
		cmocka_unit_test(test_damaged_records_have_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
