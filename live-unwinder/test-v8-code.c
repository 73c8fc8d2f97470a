/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of V8's code: what is inlined where, what is damaged, and which bytes are kept. */
#include "live-unwinder/test-v8-records.h"

static int set_up(void **state)
{
	memset(&scripts, 0, sizeof(scripts));
	scripts_init(&scripts);
	add_runtime();
	add_usual_records();
	return 0;
}

static int tear_down(void **state)
{
	scripts_deinit(&scripts);
	return 0;
}

static int count_inlined_by(const struct v8_fields *by, uint64_t offset)
{
	const struct wire_blob bytes = { record.at, record.n };
	struct v8_inlined inlined[V8_CALLS_MAX];
	struct v8_code code;

	assert_true(v8_code_read(by, 0, &bytes, &code));
	return v8_code_find_inlined(by, &code, offset, inlined);
}

/* How many functions are inlined at an offset of what `record` is; -1: not known. */
static int count_inlined(uint64_t offset)
{
	return count_inlined_by(&fields, offset);
}

static void test_code_begins_where_its_object_says_or_within_it(void **state)
{
	struct v8_fields within = fields;
	struct wire_blob bytes;
	struct v8_code code;

	make_baseline(0);
	bytes = (struct wire_blob){ record.at, record.n };
	assert_true(v8_code_read(&fields, 0x1000, &bytes, &code));
	assert_int_equal(code.start, JIT_BASELINE);
	within.code_start = -1;
	within.code_within = 128;
	assert_true(v8_code_read(&within, 0x1000, &bytes, &code));
	assert_int_equal(code.start, 0x1000 + 128);
}

static void test_tables_that_do_not_say_what_is_inlined(void **state)
{
	static const char endless[12] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };

	table.n = 0;
	put(&table, endless, sizeof(endless));
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	table.n = 0;
	put(&table, endless, 3); /* a number that is cut */
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	table.n = 0;
	put_entry(ONE_INLINED_AT, position_in(1), true);
	put_entry(ONE_INLINED_AT + 1, position_in(0), true);
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(ONE_INLINED_AT), 1);
	assert_int_equal(count_inlined(ONE_INLINED_AT - 1), -1); /* in front of the first entry */
}

/* As node 26 has them: a step is twice the distance, and whether it leads to a statement. */
static void test_steps_that_have_a_bit_more(void **state)
{
	struct v8_fields shifted = fields;
	int64_t last = -1;

	shifted.code_steps = 1;
	table.n = 0;
	for (int64_t i = 0; i < 3; i++) {
		const int64_t at[] = { 0, ONE_INLINED_AT, OWN_AGAIN_AT };

		put_number((at[i] - last) << 1 | (i & 1));
		put_number(i == 1   ? (int64_t)position_in(1)
			   : i == 2 ? -(int64_t)position_in(1)
				    : 0);
		last = at[i];
	}
	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined_by(&shifted, ONE_INLINED_AT - 1), 0);
	assert_int_equal(count_inlined_by(&shifted, ONE_INLINED_AT), 1);
	assert_int_equal(count_inlined_by(&shifted, OWN_AGAIN_AT - 1), 1);
	assert_int_equal(count_inlined(ONE_INLINED_AT),
			 0); /* by the other form it is not there yet */
}

static void test_inlinings_out_of_range(void **state)
{
	static const struct inlining beyond[] = { { .function = 0 },
						  { .position = 1ULL << 31, .function = 2 } };
	static const struct inlining negative[] = { { .function = -1 }, { .function = -1 } };

	make_optimized(usual_inlinings, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), 2);
	make_optimized(usual_inlinings, 1);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	assert_int_equal(count_inlined(ONE_INLINED_AT), 1);
	make_optimized(beyond, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	assert_int_equal(count_inlined(ONE_INLINED_AT), 1);
	make_optimized(negative, 2);
	assert_int_equal(count_inlined(ONE_INLINED_AT), -1);
}

static void test_inlinings_end(void **state)
{
	static const struct inlining circle[] = { { .position = 2ULL << 31 },
						  { .position = 1ULL << 31 } };
	struct inlining deep[V8_CALLS_MAX + 1] = { 0 };

	make_optimized(circle, 2);
	assert_int_equal(count_inlined(TWO_INLINED_AT), -1);
	for (uint64_t i = 0; i <= V8_CALLS_MAX; i++)
		deep[i].position = position_in(i);
	table.n = 0;
	put_entry(0, position_in(V8_CALLS_MAX), true);
	put_entry(1, position_in(V8_CALLS_MAX + 1), true);
	put_entry(2, position_in(0), true);
	make_optimized(deep, V8_CALLS_MAX + 1);
	assert_int_equal(count_inlined(0), V8_CALLS_MAX);
	assert_int_equal(count_inlined(1), -1);
}

/* What an object is; a record of other bytes is none of V8's. */
static enum v8_object object_of(const char *bytes, size_t n)
{
	char *copy = test_malloc(n ? n : 1);
	const struct wire_memory memory = { .bytes = { copy, n } };
	enum v8_object object;

	memcpy(copy, bytes, n);
	object = v8_object_of(&fields, &memory);
	test_free(copy);
	return object;
}

static void test_damaged_objects_are_none(void **state)
{
	static const char zeros[1024];

	make_optimized(usual_inlinings, 2);
	assert_int_equal(object_of(record.at, record.n), V8_CODE);
	for (size_t n = 0; n < record.n; n++)
		assert_int_equal(object_of(record.at, n), V8_NOTHING);
	make_function(BYTECODE);
	assert_int_equal(object_of(record.at, record.n), V8_FUNCTION);
	for (size_t n = 0; n < record.n; n++)
		assert_int_equal(object_of(record.at, n), V8_NOTHING);
	assert_int_equal(object_of(zeros, sizeof(zeros)), V8_NOTHING);
}

static bool is_kept(uint64_t number)
{
	struct wire_blob bytes;

	return code_table_find_bytes(&scripts.codes, number, &bytes);
}

static void test_only_bytes_of_code_are_kept(void **state)
{
	assert_true(is_kept(OPTIMIZED_NUMBER));
	assert_true(is_kept(BASELINE_NUMBER));
	assert_false(is_kept(OWN));
	make_baseline(BYTECODE);
	add_record(BASELINE_NUMBER + 1, OF_BASELINE); /* it is emitted again */
	assert_false(is_kept(BASELINE_NUMBER + 1));
	assert_true(is_kept(BASELINE_NUMBER));
}

/* Keeps records of a process until its own limit, or that of all, is reached. */
static void fill(uint64_t process, uint64_t *number, uint64_t *address)
{
	struct wire_memory kept = { .process = process,
				    .identity = IDENTITY,
				    .bytes = { record.at, sizeof(record.at) } };
	uint64_t n_refused = scripts.codes.n_refused;

	while (scripts.codes.n_refused == n_refused && !scripts.codes.n_forgotten) {
		kept.number = ++*number;
		kept.address = *address += STEP;
		assert_int_equal(code_table_keep(&scripts.codes, &kept, V8_CODE), 0);
	}
}

static void test_kept_bytes_of_a_process_have_a_limit(void **state)
{
	struct script_code_view view;
	uint64_t number = 100, address = OF_UNKNOWN;

	fill(PROCESS, &number, &address);
	assert_int_equal(scripts.codes.n_forgotten, 0);
	assert_in_range(number - 100, CODE_PROCESS_BYTES_MAX / sizeof(record.at),
			CODE_PROCESS_BYTES_MAX / sizeof(record.at) + 1);
	assert_true(is_kept(OPTIMIZED_NUMBER));
	assert_true(is_kept(number - 1));
	assert_false(is_kept(number));
	assert_int_equal(code_table_find(&scripts.codes, PROCESS, address, IDENTITY, &view),
			 CODE_IS_NONE);
}

/* What did not fit is not lost: it is emitted only once. */
static void test_kept_bytes_of_all_have_a_limit(void **state)
{
	struct script_code_view view;
	uint64_t number = 100, address = OF_UNKNOWN, process = PROCESS;

	while (!scripts.codes.n_forgotten)
		fill(++process, &number, &address);
	assert_int_equal(scripts.codes.n_bytes, sizeof(record.at));
	assert_false(is_kept(OPTIMIZED_NUMBER));
	assert_true(is_kept(number));
	assert_int_equal(code_table_find(&scripts.codes, process, address, IDENTITY, &view),
			 CODE_IS_KNOWN);
	assert_int_equal(view.number, number);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_code_begins_where_its_object_says_or_within_it),
		TEST(test_tables_that_do_not_say_what_is_inlined),
		TEST(test_steps_that_have_a_bit_more),
		TEST(test_inlinings_out_of_range),
		TEST(test_inlinings_end),
		TEST(test_damaged_objects_are_none),
		TEST(test_only_bytes_of_code_are_kept),
		TEST(test_kept_bytes_of_a_process_have_a_limit),
		TEST(test_kept_bytes_of_all_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
