/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of .NET have their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/script/dotnet-code.h"
#include "symbolizer/script/dotnet-method.h"

static struct dotnet_code code;
static const struct wire_memory record = { .bytes = { &code, sizeof(code) } };
static struct script_code_text text;

static void begin_test(const char *name_space, const char *outer, const char *type,
		       const char *name)
{
	code = (struct dotnet_code){ 0 };
	strcpy(code.name_space, name_space);
	strcpy(code.types[0], type);
	strcpy(code.types[1], outer);
	strcpy(code.name, name);
}

static void test_methods_have_the_names_of_their_types(void **state)
{
	begin_test("System.Text", "Outer", "Inner`1", "Run");
	assert_true(dotnet_method_decode(&record, &text));
	assert_string_equal(text.name, "System.Text.Outer.Inner`1.Run");
	assert_string_equal(text.file, "");
	begin_test("", "", "Program", ".ctor");
	assert_true(dotnet_method_decode(&record, &text));
	assert_string_equal(text.name, "Program..ctor");
}

static void test_methods_that_are_made_have_no_types(void **state)
{
	begin_test("", "", "", "made");
	assert_true(dotnet_method_decode(&record, &text));
	assert_string_equal(text.name, "made");
	begin_test("System", "", "Type", "");
	assert_true(dotnet_method_decode(&record, &text));
	assert_string_equal(text.name, "");
}

/* A target's own bytes need no zero. */
static void test_names_have_an_end(void **state)
{
	memset(&code, 'x', sizeof(code));
	assert_true(dotnet_method_decode(&record, &text));
	assert_int_equal(strlen(text.name), 5 * (DOTNET_NAME_MAX - 1) + 4);
}

static void test_records_of_another_size_are_damaged(void **state)
{
	const struct wire_memory other = { .bytes = { &code, sizeof(code) - 1 } };

	assert_false(dotnet_method_decode(&other, &text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_methods_have_the_names_of_their_types),
		cmocka_unit_test(test_methods_that_are_made_have_no_types),
		cmocka_unit_test(test_names_have_an_end),
		cmocka_unit_test(test_records_of_another_size_are_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
