/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/process-table.h"

static void add(struct process_table *table, uint64_t number, enum wire_origin origin,
		uint64_t parent)
{
	struct wire_process record = {
		.process = number,
		.pid = number + 100,
		.origin = origin,
		.parent = parent,
		.name = wire_string("name", 64),
	};

	assert_int_equal(process_table_add(table, &record), 0);
}

static void map(struct process_table *table, uint64_t process, uint64_t start, uint64_t length,
		uint64_t image)
{
	struct wire_mapping record = {
		.mapping = 7,
		.process = process,
		.start = start,
		.length = length,
		.offset = 0x10000,
		.image = image,
	};

	assert_int_equal(process_table_map(table, &record), 0);
}

/* The location as image and offset; image 0: none. */
static uint64_t place(const struct process_table *table, uint64_t number, uint64_t address,
		      uint32_t flags, uint64_t *ret_offset)
{
	struct wire_frame frame = { .address = address, .flags = flags };
	uint64_t image;

	return process_table_place(table, process_table_find(table, number), &frame, &image,
				   ret_offset)
		       ? image
		       : 0;
}

static void test_a_fork_begins_with_its_parents_mappings(void **state)
{
	struct process_table table = { 0 };
	uint64_t offset;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	add(&table, 2, WIRE_origin_FORKED, 1);
	map(&table, 1, 0x1000, 0x1000, 6);
	assert_int_equal(place(&table, 2, 0x1010, WIRE_frame_flags_EXACT, &offset), 5);
	assert_int_equal(offset, 0x10010);
	assert_int_equal(place(&table, 1, 0x1010, WIRE_frame_flags_EXACT, &offset), 6);
	process_table_deinit(&table);
}

static void test_an_exec_begins_without_mappings(void **state)
{
	struct process_table table = { 0 };
	uint64_t offset;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	add(&table, 2, WIRE_origin_EXECUTED, 1);
	assert_int_equal(place(&table, 2, 0x1010, WIRE_frame_flags_EXACT, &offset), 0);
	process_table_deinit(&table);
}

static void test_a_return_address_is_looked_up_one_less(void **state)
{
	struct process_table table = { 0 };
	uint64_t offset;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	map(&table, 1, 0x2000, 0x1000, 6);
	assert_int_equal(place(&table, 1, 0x2000, 0, &offset), 5);
	assert_int_equal(offset, 0x10fff);
	assert_int_equal(place(&table, 1, 0x2000, WIRE_frame_flags_EXACT, &offset), 6);
	assert_int_equal(offset, 0x10000);
	assert_int_equal(place(&table, 1, 0x1000, 0, &offset), 0);
	assert_int_equal(place(&table, 1, 0, 0, &offset), 0);
	process_table_deinit(&table);
}

static void test_an_unmapped_address_has_no_location(void **state)
{
	struct process_table table = { 0 };
	uint64_t offset, version;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x2000, 5);
	version = process_version(process_table_find(&table, 1));
	map(&table, 1, 0x1000, 0x1000, 0);
	assert_int_not_equal(process_version(process_table_find(&table, 1)), version);
	assert_int_equal(place(&table, 1, 0x1800, 0, &offset), 0);
	assert_int_equal(place(&table, 1, 0x2800, 0, &offset), 5);
	assert_int_equal(table.n_refused, 0);
	process_table_deinit(&table);
}

static void add_sharer(struct process_table *table, uint64_t number, uint64_t with)
{
	struct wire_process record = {
		.process = number,
		.origin = WIRE_origin_FORKED,
		.parent = with,
		.memory = with,
		.name = wire_string("name", 64),
	};

	assert_int_equal(process_table_add(table, &record), 0);
}

static void test_processes_of_one_memory_have_the_same_mapped(void **state)
{
	struct process_table table = { 0 };
	uint64_t offset, versions[3];

	add(&table, 1, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	add_sharer(&table, 2, 1);
	add_sharer(&table, 3, 2);
	add(&table, 4, WIRE_origin_FORKED, 2);
	for (uint64_t i = 0; i < 3; i++)
		versions[i] = process_version(process_table_find(&table, i + 1));
	map(&table, 2, 0x3000, 0x1000, 6);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(place(&table, i + 1, 0x1800, 0, &offset), 5);
		assert_int_equal(place(&table, i + 1, 0x3800, 0, &offset), 6);
		for (uint64_t j = 0; j < 3; j++)
			assert_int_not_equal(process_version(process_table_find(&table, i + 1)),
					     versions[j]);
	}
	assert_int_not_equal(process_version(process_table_find(&table, 1)),
			     process_version(process_table_find(&table, 3)));
	assert_int_equal(place(&table, 4, 0x1800, 0, &offset), 5);
	assert_int_equal(place(&table, 4, 0x3800, 0, &offset), 0);
	process_table_exit(&table, &(struct wire_process_exit){ 1, 0 });
	map(&table, 3, 0x5000, 0x1000, 7);
	assert_int_equal(place(&table, 2, 0x5800, 0, &offset), 7);
	assert_int_equal(table.n_refused, 0);
	process_table_deinit(&table);
}

static void test_no_two_processes_ever_have_the_same_version(void **state)
{
	enum { MANY = 40, ROUNDS = 50 };
	struct process_table table = { 0 };
	static uint64_t known[MANY * ROUNDS];
	size_t n = 0;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	for (uint64_t i = 2; i <= MANY; i++) {
		if (i % 3)
			add_sharer(&table, i, i - 1);
		else
			add(&table, i, WIRE_origin_FORKED, i - 1);
	}
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (uint64_t i = 1; i <= MANY; i++)
			map(&table, i, round * 0x1000, 0x1000, 5);
		for (uint64_t i = 1; i <= MANY; i++)
			known[n++] = process_version(process_table_find(&table, i));
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(known[i], known[j]);
	process_table_deinit(&table);
}

static void test_a_process_over_the_limit_has_no_mappings(void **state)
{
	struct wire_mapping limit = { .process = 1,
				      .flags = WIRE_mapping_flags_LIMIT,
				      .length = UINT64_MAX };
	struct process_table table = { 0 };
	uint64_t offset;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	add(&table, 2, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	map(&table, 2, 0x1000, 0x1000, 5);
	assert_false(process_is_over_limit(process_table_find(&table, 1)));
	assert_int_equal(process_table_map(&table, &limit), 0);
	assert_true(process_is_over_limit(process_table_find(&table, 1)));
	assert_int_equal(place(&table, 1, 0x1800, 0, &offset), 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	assert_int_equal(place(&table, 1, 0x1800, 0, &offset), 0);
	add(&table, 3, WIRE_origin_FORKED, 1);
	assert_true(process_is_over_limit(process_table_find(&table, 3)));
	assert_false(process_is_over_limit(process_table_find(&table, 2)));
	assert_int_equal(place(&table, 2, 0x1800, 0, &offset), 5);
	process_table_deinit(&table);
}

/* No source emits such a stream. */
static void test_a_process_beyond_its_limit_loses_its_own(void **state)
{
	struct process_table table = { 0 };
	uint64_t offset, number = 2, n_refused;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	map(&table, 1, 0x1000, 0x1000, 5);
	for (; !table.n_refused && number < 1000; number++) {
		add(&table, number, WIRE_origin_SCANNED, 0);
		for (uint64_t i = 1; i <= 60000 && !table.n_refused; i++)
			map(&table, number, i * 0x2000, 0x1000, 5);
	}
	assert_in_range(number, PROCESS_TABLE_MAPPINGS_MAX / (60000 * 60), 1000 - 1);
	n_refused = table.n_refused;
	assert_in_range(table.mappings.n_bytes, 1, PROCESS_TABLE_MAPPINGS_MAX);
	assert_true(process_is_over_limit(process_table_find(&table, number - 1)));
	map(&table, 1, 0x9000, 0x1000, 6);
	assert_int_equal(table.n_refused, n_refused);
	assert_int_equal(place(&table, 1, 0x1800, 0, &offset), 5);
	assert_int_equal(place(&table, 1, 0x9800, 0, &offset), 6);
	assert_int_equal(place(&table, 2, 0x2800, 0, &offset), 5);
	process_table_deinit(&table);
	assert_int_equal(table.mappings.n_bytes, 0);
}

static void test_all_processes_share_the_kernel(void **state)
{
	struct process_table table = { 0 };
	struct wire_mapping kernel = {
		.mapping = 1,
		.start = 1ULL << 63,
		.length = (1ULL << 63) - 1,
		.offset = 1ULL << 63,
		.image = 1,
	};
	uint64_t offset;

	assert_int_equal(process_table_map(&table, &kernel), 0);
	assert_int_equal(table.n_refused, 0);
	assert_int_equal(place(&table, 42, 0xffffffff81000010, WIRE_frame_flags_KERNEL, &offset),
			 1);
	assert_true(offset == 0xffffffff8100000f);
	/* A kernel address in a user frame is not the kernel's. */
	assert_int_equal(place(&table, 42, 0xffffffff81000010, 0, &offset), 0);
	process_table_deinit(&table);
}

static void test_impossible_records_are_counted(void **state)
{
	struct process_table table = { 0 };

	add(&table, 0, WIRE_origin_SCANNED, 0);
	assert_int_equal(table.n_refused, 1);
	add(&table, 1, WIRE_origin_FORKED, 1); /* its own parent */
	assert_int_equal(table.n_refused, 1);
	add(&table, 1, WIRE_origin_SCANNED, 0);
	assert_int_equal(table.n_refused, 2);
	map(&table, 99, 0x1000, 0x1000, 5);
	assert_int_equal(table.n_refused, 3);
	map(&table, 1, 0x1000, 0, 5);
	assert_int_equal(table.n_refused, 4);
	map(&table, 1, UINT64_MAX - 10, 100, 5);
	assert_int_equal(table.n_refused, 5);
	assert_int_equal(process_mappings(process_table_find(&table, 1))->n, 0);
	process_table_exit(&table, &(struct wire_process_exit){ 99, 0 });
	process_table_deinit(&table);
}

static void test_more_processes_than_the_limit_are_refused(void **state)
{
	struct process_table table = { 0 };

	for (uint64_t i = 1; i <= PROCESS_TABLE_MAX + 3; i++)
		add(&table, i, WIRE_origin_FOUND, 0);
	assert_int_equal(table.n_refused, 3);
	assert_null(process_table_find(&table, PROCESS_TABLE_MAX + 1));
	process_table_exit(&table, &(struct wire_process_exit){ 1, 0 });
	add(&table, PROCESS_TABLE_MAX + 1, WIRE_origin_FOUND, 0);
	assert_non_null(process_table_find(&table, PROCESS_TABLE_MAX + 1));
	process_table_deinit(&table);
}

static void test_only_the_main_thread_names_the_process(void **state)
{
	struct process_table table = { 0 };
	struct wire_thread thread = { .process = 1, .tid = 555, .name = wire_string("worker", 64) };

	add(&table, 1, WIRE_origin_SCANNED, 0);
	process_table_rename(&table, &thread);
	assert_string_equal(process_table_find(&table, 1)->name, "name");
	thread.tid = 101;
	process_table_rename(&table, &thread);
	assert_string_equal(process_table_find(&table, 1)->name, "worker");
	thread.process = 9;
	process_table_rename(&table, &thread);
	process_table_deinit(&table);
}

static void count(struct process *process, void *arg)
{
	++*(int *)arg;
}

static void test_the_callback_precedes_a_processs_end(void **state)
{
	int n = 0;
	struct process_table table = { .forget = count, .arg = &n };

	add(&table, 1, WIRE_origin_SCANNED, 0);
	add(&table, 2, WIRE_origin_SCANNED, 0);
	process_table_exit(&table, &(struct wire_process_exit){ 1, 0 });
	assert_int_equal(n, 1);
	assert_null(process_table_find(&table, 1));
	process_table_deinit(&table);
	assert_int_equal(n, 2);
}

static void test_the_version_changes_with_the_mappings(void **state)
{
	struct process_table table = { 0 };
	uint64_t version;

	add(&table, 1, WIRE_origin_SCANNED, 0);
	version = process_version(process_table_find(&table, 1));
	map(&table, 1, 0x1000, 0x1000, 5);
	assert_int_not_equal(process_version(process_table_find(&table, 1)), version);
	process_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_fork_begins_with_its_parents_mappings),
		cmocka_unit_test(test_an_exec_begins_without_mappings),
		cmocka_unit_test(test_a_return_address_is_looked_up_one_less),
		cmocka_unit_test(test_an_unmapped_address_has_no_location),
		cmocka_unit_test(test_processes_of_one_memory_have_the_same_mapped),
		cmocka_unit_test(test_no_two_processes_ever_have_the_same_version),
		cmocka_unit_test(test_a_process_over_the_limit_has_no_mappings),
		cmocka_unit_test(test_a_process_beyond_its_limit_loses_its_own),
		cmocka_unit_test(test_all_processes_share_the_kernel),
		cmocka_unit_test(test_impossible_records_are_counted),
		cmocka_unit_test(test_more_processes_than_the_limit_are_refused),
		cmocka_unit_test(test_only_the_main_thread_names_the_process),
		cmocka_unit_test(test_the_callback_precedes_a_processs_end),
		cmocka_unit_test(test_the_version_changes_with_the_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
