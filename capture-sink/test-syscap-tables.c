/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture-sink/syscap-tables.h"

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

/* A function of the kernel, as keep_kernel_symbol() of the format keeps it. */
static void add(uint64_t start, uint64_t size, const char *name, const char *module)
{
	struct wire_symbol symbol = { .image = 1,
				      .offset = start,
				      .start = start,
				      .size = size,
				      .name = wire_string(name, 4096),
				      .module = wire_string(module, 255) };

	assert_int_equal(names_add_symbol(&names, &symbol), 0);
	assert_int_equal(pair_map_add(&map, start, size,
				      names_find_place(&names, 1, start) - names.named_places),
			 0);
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

static void test_kernel_functions_stand_by_address_with_their_ends(void **state)
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

static void test_where_one_function_follows_another_its_name_wins(void **state)
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

/* Sysprof's table: 32 bytes an entry, a zero entry at its end, then the texts. */
struct entry {
	uint64_t begin, end;
	uint32_t pid, name, tag, padding;
};

static uint32_t intern(const char *text)
{
	return names_intern(&names, text, strlen(text));
}

static void test_symbols_are_bundled_by_process_and_address(void **state)
{
	static const struct entry zero;
	const struct entry *entries;
	char *bundle;
	size_t size;

	pair_map_add(&map, 7, 0x2000, intern("second"));
	pair_map_add(&map, 7, 0x1000, intern("first"));
	pair_map_add(&map, 3, 0x9000, intern("first"));
	pair_map_add(&map, 9, 0x1, 0); /* beyond the limit of names */
	assert_int_equal(syscap_make_bundle(&map, &names, &bundle, &size), 0);
	entries = (const void *)bundle;
	assert_true(size > 5 * sizeof(*entries));
	assert_int_equal(bundle[size - 1], 0);
	assert_int_equal(entries[0].pid, 3);
	assert_int_equal(entries[0].begin, 0x9000);
	assert_int_equal(entries[0].end, 0x9001);
	assert_int_equal(entries[1].pid, 7);
	assert_int_equal(entries[1].begin, 0x1000);
	assert_int_equal(entries[2].begin, 0x2000);
	assert_int_equal(entries[3].pid, 9);
	assert_memory_equal(&entries[4], &zero, sizeof(zero));
	for (int i = 0; i < 4; i++)
		assert_in_range(entries[i].name, 5 * sizeof(*entries), size - 1);
	assert_string_equal(bundle + entries[0].name, "first");
	assert_int_equal(entries[1].name, entries[0].name); /* each text stands once */
	assert_string_equal(bundle + entries[2].name, "second");
	assert_string_equal(bundle + entries[3].name, "[too many names]");
	assert_int_equal(entries[0].tag, 0);
	free(bundle);
}

static void test_a_bundle_of_nothing_is_its_end(void **state)
{
	char *bundle;
	size_t size;

	assert_int_equal(syscap_make_bundle(&map, &names, &bundle, &size), 0);
	assert_true(size >= sizeof(struct entry));
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bundle[i], 0);
	free(bundle);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_kernel_functions_stand_by_address_with_their_ends),
		TEST(test_where_one_function_follows_another_its_name_wins),
		TEST(test_a_function_without_a_size_keeps_its_name),
		TEST(test_without_functions_there_is_still_a_byte),
		TEST(test_symbols_are_bundled_by_process_and_address),
		TEST(test_a_bundle_of_nothing_is_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
