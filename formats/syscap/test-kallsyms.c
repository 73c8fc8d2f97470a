/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/syscap/kallsyms.h"

static struct names names;
static struct pair_map map;

static int set_up(void **state)
{
	names_init(&names);
	pair_map_init(&map, 1000);
	return 0;
}

static int tear_down(void **state)
{
	names_deinit(&names);
	pair_map_deinit(&map);
	return 0;
}

static uint32_t intern(const char *text)
{
	return names_intern(&names, text, strlen(text));
}

/* Adds a kernel function as keep_kernel_symbol() of the format does. */
static void add(uint64_t start, uint64_t size, const char *name, const char *module)
{
	uint64_t of_module = *module ? intern(module) : 0;

	assert_int_equal(pair_map_add(&map, start, size, of_module << 32 | intern(name)), 0);
}

static void check_kallsyms(const char *expected)
{
	char *text = NULL;
	size_t size = 0;

	assert_int_equal(syscap_make_kallsyms(&map, &names, &text, &size), 0);
	assert_int_equal(size, strlen(expected));
	assert_string_equal(text, expected);
	free(text);
}

static void test_kernel_functions_are_sorted_with_ends(void **state)
{
	add(0xffffffff81002000, 0x100, "second", "");
	add(0xffffffff81000000, 0x10, "first", "");
	add(0xffffffffc0000000, 0x20, "third", "nf_tables");
	check_kallsyms("ffffffff81000000 t first\n"
		       "ffffffff81000010 t unknown\n"
		       "ffffffff81002000 t second\n"
		       "ffffffff81002100 t unknown\n"
		       "ffffffffc0000000 t third\t[nf_tables]\n"
		       "ffffffffc0000020 t unknown\n");
}

static void test_the_function_that_starts_there_wins(void **state)
{
	add(0xffffffff81000000, 0x10, "first", "");
	add(0xffffffff81000010, 0x10, "second", "");
	check_kallsyms("ffffffff81000000 t first\n"
		       "ffffffff81000010 t second\n"
		       "ffffffff81000020 t unknown\n");
}

static void test_a_function_without_a_size_keeps_its_name(void **state)
{
	add(0xffffffff81000000, 0, "first", "");
	check_kallsyms("ffffffff81000000 t first\n");
}

static void test_without_functions_there_is_still_a_byte(void **state)
{
	check_kallsyms("\n");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_kernel_functions_are_sorted_with_ends),
		TEST(test_the_function_that_starts_there_wins),
		TEST(test_a_function_without_a_size_keeps_its_name),
		TEST(test_without_functions_there_is_still_a_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
