/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uses this program's own unwind ranges, which its symbols must confirm. */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbolizer/symbols/code-ranges.h"
#include "symbolizer/symbols/symbol-table.h"

int main(int argc, char **argv);

static struct elf_image elf;
static struct code_ranges ranges;
static uint64_t base;

static int find_own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	base = info->dlpi_addr;
	return 1;
}

static int set_up(void **state)
{
	dl_iterate_phdr(find_own_base, NULL);
	if (elf_image_open_descriptor(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 0, &elf))
		return -1;
	return code_ranges_init(&ranges, &elf);
}

static int tear_down(void **state)
{
	code_ranges_deinit(&ranges);
	elf_image_close(&elf);
	return 0;
}

static void test_a_function_has_its_bounds(void **state)
{
	const struct debug_dirs dirs = { .n = 0 };
	const uint64_t address = (uintptr_t)main - base;
	const struct code_range *range = code_ranges_find(&ranges, address);
	struct symbol_table table;
	struct symbol *symbol;

	assert_int_equal(symbol_table_init(&table, elf.elf, "self", &dirs), 0);
	symbol = symbol_table_find(&table, address);
	assert_non_null(range);
	assert_int_equal(range->start, address);
	assert_int_equal(range->start, symbol->address);
	assert_int_equal(range->size, symbol->size);
	assert_ptr_equal(code_ranges_find(&ranges, address + range->size - 1), range);
	assert_ptr_not_equal(code_ranges_find(&ranges, address - 1), range);
	assert_ptr_not_equal(code_ranges_find(&ranges, address + range->size), range);
	symbol_table_deinit(&table);
}

static void test_ranges_are_in_order(void **state)
{
	assert_true(ranges.n > 10);
	for (size_t i = 1; i < ranges.n; i++)
		assert_true(ranges.list[i - 1].start <= ranges.list[i].start);
}

static void test_other_addresses_have_no_range(void **state)
{
	const struct code_ranges nothing = { 0 };

	assert_null(code_ranges_find(&ranges, 0));
	assert_null(code_ranges_find(&ranges, UINT64_MAX));
	assert_null(code_ranges_find(&nothing, 0));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_has_its_bounds),
		cmocka_unit_test(test_ranges_are_in_order),
		cmocka_unit_test(test_other_addresses_have_no_range),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
