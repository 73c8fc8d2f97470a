/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of a real program's units (make-inlines; the argument is one), within limits and beyond
 * them: answers may be missing, but never wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "symbolizer/dwarf/debug-sections.h"
#include "symbolizer/dwarf/inline-table.h"

enum { UNITS_MAX = 16 };

static const char *program;

struct units {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	struct interval_map code;
	Dwarf_Die list[UNITS_MAX];
	size_t n;
};

/* Answers for a unit's addresses, compared with the whole table. */
struct comparison {
	size_t n_same, n_cut, n_missing;
};

static void close_units(struct units *units)
{
	interval_map_deinit(&units->code);
	dwarf_end(units->dwarf);
	elf_end(units->elf);
	close(units->fd);
}

static struct units open_units(void)
{
	struct units units = { .fd = open(program, O_RDONLY | O_CLOEXEC) };
	Dwarf_CU *unit = NULL;

	assert_true(units.fd >= 0);
	elf_version(EV_CURRENT);
	units.elf = elf_begin(units.fd, ELF_C_READ, NULL);
	units.dwarf = dwarf_begin_elf(units.elf, DWARF_C_READ, NULL);
	assert_non_null(units.dwarf);
	assert_int_equal(debug_sections_code(units.elf, &units.code), 0);
	while (units.n < UNITS_MAX && dwarf_get_units(units.dwarf, unit, &unit, NULL, NULL,
						      &units.list[units.n], NULL) == 0)
		units.n++;
	assert_true(units.n >= 2);
	return units;
}

static const struct inline_entry *outermost(const struct inline_table *table,
					    const struct inline_entry *entry)
{
	const struct inline_entry *outer;

	while ((outer = inline_table_outer(table, entry)))
		entry = outer;
	return entry;
}

static bool is_same_chain(const struct inline_table *left, const struct inline_entry *a,
			  const struct inline_table *right, const struct inline_entry *b)
{
	while (a && b && a->die == b->die) {
		a = inline_table_outer(left, a);
		b = inline_table_outer(right, b);
	}
	return !a && !b;
}

/* Each answer must be the whole table's, the function alone, or none. */
static struct comparison compare(const struct inline_table *whole, const struct inline_table *table)
{
	struct comparison result = { 0 };

	for (size_t i = 0; i < whole->map.n; i++) {
		uint64_t address = whole->map.starts[i];
		const struct inline_entry *truth = inline_table_find(whole, address);
		const struct inline_entry *found = inline_table_find(table, address);

		if (!found) {
			result.n_missing += truth != NULL;
		} else if (found->is_cut) {
			result.n_cut++;
			assert_int_equal(found->parent, INTERVAL_NONE);
			assert_int_equal(found->die, outermost(whole, truth)->die);
		} else {
			result.n_same++;
			assert_true(is_same_chain(whole, truth, table, found));
		}
	}
	return result;
}

/* All units, without limits and with these. */
static struct comparison compare_all(const struct inline_limits *limits)
{
	_cleanup_(close_units) struct units units = open_units();
	struct comparison sum = { 0 };

	for (size_t i = 0; i < units.n; i++) {
		_cleanup_(inline_table_deinit) struct inline_table whole, table;
		struct comparison unit;

		assert_int_equal(inline_table_init(&whole, &units.list[i], &units.code,
						   &inline_limits_usual),
				 0);
		assert_int_equal(whole.n_cut + whole.n_refused, 0);
		assert_int_equal(inline_table_init(&table, &units.list[i], &units.code, limits), 0);
		unit = compare(&whole, &table);
		assert_true(unit.n_cut == 0 || table.n_cut > 0);
		assert_true(unit.n_missing == 0 || table.n_refused > 0);
		assert_true(unit.n_missing == 0 || table.n_entries <= limits->n_ranges);
		sum.n_same += unit.n_same;
		sum.n_cut += unit.n_cut;
		sum.n_missing += unit.n_missing;
	}
	return sum;
}

static void test_calls_lie_in_functions(void **state)
{
	_cleanup_(close_units) struct units units = open_units();
	size_t n_inlined = 0, n_functions = 0;

	for (size_t i = 0; i < units.n; i++) {
		_cleanup_(inline_table_deinit) struct inline_table table;

		assert_int_equal(inline_table_init(&table, &units.list[i], &units.code,
						   &inline_limits_usual),
				 0);
		for (size_t j = 0; j < table.n_entries; j++) {
			const struct inline_entry *entry = &table.entries[j];

			n_functions += entry->parent == INTERVAL_NONE;
			n_inlined += entry->parent != INTERVAL_NONE;
			assert_true(entry->parent == INTERVAL_NONE || entry->parent < j);
		}
		for (size_t j = 0; j < table.map.n; j++)
			assert_true(table.map.numbers[j] == INTERVAL_NONE ||
				    table.map.numbers[j] < table.n_entries);
	}
	assert_true(n_functions > 10);
	assert_true(n_inlined > 500);
}

static void test_within_the_limits_answers_are_complete(void **state)
{
	struct comparison result = compare_all(&inline_limits_usual);

	assert_true(result.n_same > 1000);
	assert_int_equal(result.n_cut + result.n_missing, 0);
}

static void test_too_many_ranges_leave_the_functions(void **state)
{
	struct inline_limits limits = inline_limits_usual;
	struct comparison result;

	limits.n_ranges = 300;
	result = compare_all(&limits);
	assert_int_equal(result.n_missing, 0);
	assert_true(result.n_cut > 1000);
}

static void test_far_too_many_ranges_leave_few_answers(void **state)
{
	struct inline_limits limits = inline_limits_usual;
	struct comparison result;

	limits.n_ranges = 2;
	result = compare_all(&limits);
	assert_int_equal(result.n_same, 0);
	assert_true(result.n_missing > result.n_cut); /* of functions of all sizes */
}

static void test_too_deep_functions_lose_inlined_calls(void **state)
{
	struct inline_limits limits = inline_limits_usual;
	bool is_mixed = false;

	for (limits.depth = 0; limits.depth < 40; limits.depth++) {
		struct comparison result = compare_all(&limits);

		is_mixed |= result.n_cut > 100 && result.n_same > 100;
	}
	assert_true(is_mixed);
}

static void test_any_limit_on_dies_is_safe(void **state)
{
	struct inline_limits limits = inline_limits_usual;

	for (limits.n_dies = 0; limits.n_dies < 20000; limits.n_dies += 1 + limits.n_dies)
		compare_all(&limits);
}

static void test_discarded_code_is_absent(void **state)
{
	_cleanup_(close_units) struct units units = open_units();
	const struct interval_map no_code = { 0 };

	for (size_t i = 0; i < units.n; i++) {
		_cleanup_(inline_table_deinit) struct inline_table table;

		assert_int_equal(
			inline_table_init(&table, &units.list[i], &no_code, &inline_limits_usual),
			0);
		assert_int_equal(table.n_entries, 0);
		assert_int_equal(table.map.n, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_lie_in_functions),
		cmocka_unit_test(test_within_the_limits_answers_are_complete),
		cmocka_unit_test(test_too_many_ranges_leave_the_functions),
		cmocka_unit_test(test_far_too_many_ranges_leave_few_answers),
		cmocka_unit_test(test_too_deep_functions_lose_inlined_calls),
		cmocka_unit_test(test_any_limit_on_dies_is_safe),
		cmocka_unit_test(test_discarded_code_is_absent),
	};

	if (argc < 2)
		return 77;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
