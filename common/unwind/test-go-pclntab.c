/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hand-made Go tables and the rules made from them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/unwind/go-pclntab.h"
#include "common/unwind/test-go-made.h"
#include "common/unwind/unwind-table.h"

static enum go_pclntab_outcome read_made(const struct go_made *made, struct go_pclntab *ret)
{
	return go_pclntab_read(made->bytes, sizeof(made->bytes), GO_MADE_ADDRESS, ret);
}

static void check_functions(uint32_t magic)
{
	const struct go_made made = go_made(magic);
	struct go_pclntab table;
	struct go_function function;
	struct go_walk walk;

	assert_int_equal(read_made(&made, &table), GO_PCLNTAB_OK);
	assert_int_equal(table.n, 3);
	assert_true(go_pclntab_function(&table, 0, &function));
	assert_string_equal(function.name, "main.f");
	assert_int_equal(function.start, GO_MADE_TEXT);
	assert_int_equal(function.end, GO_MADE_TEXT + 0x40);
	assert_int_equal(go_function_code_end(&table, &function), GO_MADE_TEXT + 0x22);
	walk = go_walk_begin(&table, &function, function.stack_at);
	assert_true(go_stack_walk_next(&walk));
	assert_int_equal(walk.value, 0);
	assert_int_equal(walk.pc, GO_MADE_TEXT + 4);
	assert_true(go_stack_walk_next(&walk));
	assert_int_equal(walk.value, 8);
	assert_true(go_stack_walk_next(&walk));
	assert_int_equal(walk.value, 0);
	assert_false(go_stack_walk_next(&walk));
	assert_true(go_pclntab_function(&table, 1, &function));
	assert_string_equal(function.name, "runtime.goexit");
	assert_int_equal(function.flags, 5);
	assert_true(go_pclntab_function(&table, 2, &function));
	assert_int_equal(function.end, GO_MADE_TEXT + 0x80);
	assert_int_equal(function.flags & GO_FUNCTION_WRITES_STACK, GO_FUNCTION_WRITES_STACK);
}

static void test_both_known_versions_are_read(void **state)
{
	check_functions(GO_MADE_1_18);
	check_functions(GO_MADE_1_20);
}

static void test_other_versions_are_refused(void **state)
{
	static const uint32_t others[] = { 0xfffffffa, 0xfffffffb, 0xfffffff2, 0 };
	struct go_pclntab table;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct go_made made = go_made(others[i]);

		assert_int_equal(read_made(&made, &table), GO_PCLNTAB_E_VERSION);
	}
}

static void test_without_its_text_all_else_is_read(void **state)
{
	struct go_made made = go_made(GO_MADE_1_20);
	struct go_pclntab table;

	go_made_put64(&made, 24, 0);
	assert_int_equal(read_made(&made, &table), GO_PCLNTAB_E_TEXT);
	assert_int_equal(table.n, 3);
	assert_int_equal(table.functions_at, GO_MADE_FUNCTIONS);
}

static void check_value(const struct go_pclntab *table, const struct go_function *function,
			uint32_t at, uint64_t offset, int64_t expected)
{
	int64_t value;

	assert_true(go_value_at(table, function, at, function->start + offset, &value));
	assert_int_equal(value, expected);
}

static void check_values(uint32_t magic)
{
	const struct go_made made = go_made(magic);
	struct go_pclntab table;
	struct go_function function;
	uint32_t data;
	int64_t value;

	assert_int_equal(read_made(&made, &table), GO_PCLNTAB_OK);
	assert_true(go_pclntab_find(&table, GO_MADE_TEXT + 0x1f, &function));
	assert_string_equal(function.name, "main.f");
	check_value(&table, &function, function.line_at, 15, 10);
	check_value(&table, &function, function.line_at, 16, 20);
	check_value(&table, &function, function.line_at, 31, 12);
	check_value(&table, &function, function.file_at, 17, 1);
	check_value(&table, &function, go_function_table(&table, &function, GO_TABLE_INLINED), 15,
		    -1);
	check_value(&table, &function, go_function_table(&table, &function, GO_TABLE_INLINED), 16,
		    0);
	check_value(&table, &function, 0, 0, -1); /* no table */
	assert_false(go_value_at(&table, &function, function.line_at, function.start + 32, &value));
	assert_string_equal(go_file_name(&table, &function, 0), "a.go");
	assert_string_equal(go_file_name(&table, &function, 1), "b.go");
	assert_null(go_file_name(&table, &function, 2));
	assert_true(go_function_data(&table, &function, GO_DATA_INLINED, &data));
	assert_int_equal(data, 0);
	assert_false(go_function_data(&table, &function, 2, &data)); /* none */
	assert_false(go_function_data(&table, &function, 4, &data)); /* beyond its list */
	assert_int_equal(go_function_table(&table, &function, 3), 0);
}

static void test_instructions_have_values(void **state)
{
	check_values(GO_MADE_1_18);
	check_values(GO_MADE_1_20);
}

static void test_functions_are_found_by_address(void **state)
{
	const struct go_made made = go_made(GO_MADE_1_20);
	struct go_pclntab table;
	struct go_function function;

	assert_int_equal(read_made(&made, &table), GO_PCLNTAB_OK);
	assert_false(go_pclntab_find(&table, GO_MADE_TEXT - 1, &function));
	assert_true(go_pclntab_find(&table, GO_MADE_TEXT + 0x5f, &function));
	assert_string_equal(function.name, "runtime.goexit");
	assert_true(go_pclntab_find(&table, GO_MADE_TEXT + 0x7f, &function));
	assert_string_equal(function.name, "gogo");
	assert_false(go_pclntab_find(&table, GO_MADE_TEXT + 0x80, &function));
	assert_false(go_pclntab_find(&table, UINT64_MAX, &function));
}

/* Reads everything, so that sanitizers detect reads outside of the bytes. */
static void read_all(const uint8_t *bytes, size_t size)
{
	struct go_pclntab table;
	struct go_function function;

	if (go_pclntab_read(bytes, size, GO_MADE_ADDRESS, &table) != GO_PCLNTAB_OK)
		return;
	assert_true(table.n <= size / 8);
	for (uint64_t i = 0; i < table.n; i++)
		if (go_pclntab_function(&table, i, &function)) {
			assert_true(strlen(function.name) < size);
			assert_in_range(go_function_code_end(&table, &function), function.start,
					function.end);
		}
}

static void test_every_truncation_is_read_or_refused(void **state)
{
	const struct go_made made = go_made(GO_MADE_1_20);

	for (size_t size = 0; size <= sizeof(made.bytes); size++) {
		_cleanup_free_ uint8_t *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy, made.bytes, size);
		read_all(copy, size);
	}
}

static void test_every_flipped_bit_is_read_or_refused(void **state)
{
	struct go_made made = go_made(GO_MADE_1_20);

	for (size_t i = 0; i < sizeof(made.bytes) * 8; i++) {
		made.bytes[i / 8] ^= 1 << i % 8;
		read_all(made.bytes, sizeof(made.bytes));
		made.bytes[i / 8] ^= 1 << i % 8;
	}
}

static int cfa_at(const struct unwind_table *table, uint64_t offset)
{
	const struct unwind_rule *rule = unwind_table_find(table, offset);

	return rule ? rule->cfa_offset : -1;
}

static void test_rules_follow_the_stack_depths(void **state)
{
	const struct unwind_segment segment = { 0x1000, 0x1000, GO_MADE_TEXT };
	const struct go_made made = go_made(GO_MADE_1_20);
	_cleanup_(unwind_table_deinit) struct unwind_table table = { 0 };
	struct go_pclntab go;
	const struct unwind_source source = {
		.arch = &unwind_x86_64,
		.segments = &segment,
		.n_segments = 1,
		.go = &go,
	};

	assert_int_equal(read_made(&made, &go), GO_PCLNTAB_OK);
	assert_int_equal(unwind_table_compile(&source, &table), 0);
	assert_int_equal(cfa_at(&table, 0x1000), 8);
	assert_int_equal(cfa_at(&table, 0x1003), 8);
	assert_int_equal(cfa_at(&table, 0x1004), 16);
	assert_int_equal(cfa_at(&table, 0x101f), 16);
	assert_int_equal(cfa_at(&table, 0x1020), 8);
	assert_int_equal(cfa_at(&table, 0x1022), -1); /* padding */
	assert_int_equal(unwind_table_find(&table, 0x1004)->fp, UNWIND_VALUE_UNDEFINED);
	assert_int_equal(unwind_table_find(&table, 0x1040)->return_address,
			 UNWIND_VALUE_UNDEFINED); /* runtime.goexit */
	assert_int_equal(unwind_table_find(&table, 0x1060)->cfa, UNWIND_CFA_FALLBACK); /* gogo */
	assert_null(unwind_table_find(&table, 0x1080));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_known_versions_are_read),
		cmocka_unit_test(test_other_versions_are_refused),
		cmocka_unit_test(test_without_its_text_all_else_is_read),
		cmocka_unit_test(test_instructions_have_values),
		cmocka_unit_test(test_functions_are_found_by_address),
		cmocka_unit_test(test_every_truncation_is_read_or_refused),
		cmocka_unit_test(test_every_flipped_bit_is_read_or_refused),
		cmocka_unit_test(test_rules_follow_the_stack_depths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
