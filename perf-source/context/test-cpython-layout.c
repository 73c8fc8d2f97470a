/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table that a process has of its own structures is checked, and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "perf-source/bpf/walk-program.h"
#include "perf-source/context/cpython-layout.h"

enum { VERSION = 0x030e0af0 };

/* The begin of _PyRuntime of CPython 3.14.10, as Debian has it. */
static const uint64_t table_of_3_14[CPYTHON_OFFSETS_SIZE / 8] = {
	0,    VERSION, 0,    316616, 784,  808,	 225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672,
	7680, 16,      7784, 0,	     7800, 7792, 7992,	 0,    832,  0,	   8,	 16,   72,   152,
	160,  232,     32,   88,     8,	   0,	 56,	 80,   74,   64,   0,	 216,  112,  120,
	128,  136,     68,   52,     96,   104,	 208,	 0,    16,   8,	   416,	 24,   88,   168,
};

static uint64_t table[CPYTHON_OFFSETS_SIZE / 8];
static struct cpython_layout layout;

static int set_up(void **state)
{
	memcpy(table, table_of_3_14, sizeof(table));
	memcpy(table, "xdebugpy", 8);
	layout = *cpython_layout_find(VERSION, table);
	return 0;
}

static bool take(void)
{
	return cpython_layout_take(&layout, VERSION, table);
}

static void test_the_constants_are_those_of_the_table(void **state)
{
	const struct cpython_layout constants = layout;

	assert_true(take());
	assert_memory_equal(&layout, &constants, sizeof(layout));
}

static void test_the_table_counts(void **state)
{
	table[40] = 96; /* code_object.filename */
	assert_true(take());
	assert_int_equal(layout.code_filename, 96);
}

static void test_a_table_of_another_version(void **state)
{
	table[1]++;
	assert_false(take());
	table[1]--;
	table[0]++;
	assert_false(take());
}

static void test_without_gil(void **state)
{
	table[2] = 1;
	layout = *cpython_layout_find(VERSION, table);
	assert_int_equal(layout.object, 32);
	assert_true(cpython_layout_is_free_threaded(VERSION, table));
	assert_null(cpython_layout_find(0x031000f0, table));
	assert_int_equal(cpython_layout_find(0x030c00f0, table)->object, 16); /* it has no table */
}

static void test_fields_outside_of_what_is_read(void **state)
{
	static const struct {
		int place;
		uint64_t value;
	} hostile[] = {
		{ 26, 1 << 20 },
		{ 32, WALK_WINDOW_MAX - 7 },
		{ 33, UINT64_MAX },
		{ 34, UINT64_MAX - 7 },
		{ 35, WALK_WINDOW_MAX + 1 },
		{ 36, WALK_WINDOW_MAX },
		{ 40, WALK_OBJECT_MAX },
		{ 42, 1ULL << 32 },
		{ 43, WALK_OBJECT_MAX - 7 },
		{ 44, WALK_OBJECT_MAX - 3 },
		{ 48, WALK_OBJECT_MAX + 1 },
	};

	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		set_up(NULL);
		table[hostile[i].place] = hostile[i].value;
		assert_false(take());
	}
}

static void test_versions(void **state)
{
	assert_null(cpython_layout_find(0x030710f0, table));
	assert_int_equal(cpython_layout_find(0x030a0df0, table)->minor, 10);
	assert_null(cpython_layout_find(0x03100000, table));
	assert_null(cpython_layout_find(0x020e0000, table));
	layout = *cpython_layout_find(0x030b02f0, table);
	assert_int_equal(layout.minor, 11);
	assert_true(cpython_layout_take(&layout, 0x030b02f0, table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_constants_are_those_of_the_table, set_up),
		cmocka_unit_test_setup(test_the_table_counts, set_up),
		cmocka_unit_test_setup(test_a_table_of_another_version, set_up),
		cmocka_unit_test_setup(test_without_gil, set_up),
		cmocka_unit_test_setup(test_fields_outside_of_what_is_read, set_up),
		cmocka_unit_test_setup(test_versions, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
