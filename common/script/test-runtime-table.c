/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interpreters are known from their records, and forked children have their parents'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/script/runtime-table.h"

#define LAYOUT                                                                                               \
	"frame.code=0 frame.previous=8 frame.instruction=56 frame.owner=70 code.filename=112 "               \
	"code.qualname=128 code.linetable=136 code.firstline=68 code.bytes=192 code.size=200 frame.size=72 " \
	"code.type=140737488347136 text=40 bytes=32"

static struct wire_runtime runtime(uint64_t process, const char *kind, const char *layout)
{
	return (struct wire_runtime){
		.process = process,
		.kind = { kind, strlen(kind) },
		.layout = { layout, strlen(layout) },
	};
}

static void add(struct runtime_table *table, uint64_t process, const char *kind, const char *layout)
{
	const struct wire_runtime record = runtime(process, kind, layout);

	assert_int_equal(runtime_table_add(table, &record), 0);
}

static void test_fields_are_read(void **state)
{
	struct runtime_table table = { 0 };
	const struct runtime_fields *fields;

	add(&table, 7, "cpython", LAYOUT " of.a.later.version=5");
	fields = runtime_table_find(&table, 7);
	assert_non_null(fields);
	assert_int_equal(fields->cpython.frame_previous, 8);
	assert_int_equal(fields->cpython.code_type, 140737488347136);
	assert_int_equal(fields->cpython.cframe_frame, -1);
	assert_null(runtime_table_find(&table, 8));
	runtime_table_deinit(&table);
}

static void test_each_language_has_its_own(void **state)
{
	static const char php[] =
		"frame.function=24 frame.previous=48 frame.info=40 frame.line=56 function.size=184 "
		"function.line=176 function.name=8 function.class=16 text=24 text.length=16 loop.from=1 loop.to=9 resume.from=20 "
		"resume.to=22";
	struct runtime_table table = { 0 };

	add(&table, 7, "php", php);
	assert_int_equal(runtime_table_find(&table, 7)->language, SCRIPT_PHP);
	assert_int_equal(runtime_table_find(&table, 7)->php.function_line, 176);
	assert_int_equal(runtime_table_find(&table, 7)->loop.to, 9);
	add(&table, 8, "php", LAYOUT);
	add(&table, 8, "cpython", php);
	assert_null(runtime_table_find(&table, 8));
	runtime_table_deinit(&table);
}

static void test_children_have_their_parents(void **state)
{
	struct runtime_table table = { 0 };
	struct wire_process child = { .process = 8, .parent = 7, .origin = WIRE_origin_FORKED };

	add(&table, 7, "cpython", LAYOUT);
	assert_int_equal(runtime_table_fork(&table, &child), 0);
	child.process = 9;
	child.origin = WIRE_origin_EXECUTED;
	assert_int_equal(runtime_table_fork(&table, &child), 0);
	runtime_table_forget(&table, 7);
	assert_null(runtime_table_find(&table, 7));
	assert_non_null(runtime_table_find(&table, 8));
	assert_null(runtime_table_find(&table, 9));
	runtime_table_deinit(&table);
}

static void test_what_is_damaged_is_refused(void **state)
{
	static const char *const damaged[] = { "",
					       "frame.code=0",
					       LAYOUT " frame.code=x",
					       LAYOUT " frame.code=-2",
					       LAYOUT " text",
					       LAYOUT " text=",
					       LAYOUT " text=99999999999",
					       LAYOUT " code.type=99999999999999999999" };
	struct runtime_table table = { 0 };

	for (size_t i = 0; i < sizeof(damaged) / sizeof(*damaged); i++) {
		add(&table, 7, "cpython", damaged[i]);
		assert_null(runtime_table_find(&table, 7));
		assert_int_equal(table.n_refused, i + 1);
	}
	add(&table, 7, "another", LAYOUT);
	assert_null(runtime_table_find(&table, 7));
	runtime_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_are_read),
		cmocka_unit_test(test_each_language_has_its_own),
		cmocka_unit_test(test_children_have_their_parents),
		cmocka_unit_test(test_what_is_damaged_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
