/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perfdata-source/order.h"

enum { RECORDS = 5000 };

/* A round without records, for sanitizers. */
static void test_an_empty_round(void **state)
{
	struct order order = { 0 };

	assert_int_equal(order_end_round(&order), 0);
	assert_int_equal(order_sort(&order, UINT64_MAX), 0);
	order_drop(&order, 0);
	assert_false(order_is_full(&order));
	order_deinit(&order);
}

/* A record without time in its bytes, which hold its number. */
static void add(struct order *order, uint64_t time, uint64_t number)
{
	const struct {
		struct perf_event_header header;
		uint64_t number;
	} bytes = { { PERF_RECORD_COMM, 0, sizeof(bytes) }, number };
	struct ordered record = {
		.time = time,
		.size = sizeof(bytes),
		.bytes = &bytes.header,
	};

	assert_int_equal(order_add_copy(order, &record), 0);
}

static uint64_t number_of(const struct ordered *record)
{
	return layout_word((const uint8_t *)(record->bytes + 1), 0);
}

static void test_queued_records_are_sorted_by_time(void **state)
{
	struct order order = { 0 };
	uint32_t random = 1;

	for (uint64_t i = 0; i < RECORDS; i++) {
		random = random * 1664525 + 1013904223;
		add(&order, random >> 8, i);
	}
	assert_int_equal(order_sort(&order, UINT64_MAX), RECORDS);
	for (size_t i = 1; i < RECORDS; i++)
		assert_true(order.list[i - 1].time <= order.list[i].time);
	order_drop(&order, RECORDS);
	assert_int_equal(order.n, 0);
	assert_int_equal(order.n_bytes, 0);
	order_deinit(&order);
}

/* An exec's mappings all have the time of one tick; the later one replaces the earlier. */
static void test_equal_times_keep_their_order(void **state)
{
	struct order order = { 0 };

	for (uint64_t i = 0; i < RECORDS; i++)
		add(&order, 10 - i % 3, i);
	order_sort(&order, UINT64_MAX);
	for (size_t i = 1; i < RECORDS; i++) {
		const struct ordered *pair = &order.list[i - 1];

		if (pair[0].time == pair[1].time)
			assert_true(number_of(&pair[0]) < number_of(&pair[1]));
	}
	order_deinit(&order);
}

static void test_equal_times_keep_the_order_of_arrival(void **state)
{
	struct order order = { 0 };

	add(&order, 1, 0);
	add(&order, 7, 1);
	order_drop(&order, order_sort(&order, 1));
	add(&order, 7, 2);
	add(&order, 5, 3);
	assert_int_equal(order_sort(&order, 7), 3);
	assert_int_equal(number_of(&order.list[0]), 3);
	assert_int_equal(number_of(&order.list[1]), 1);
	assert_int_equal(number_of(&order.list[2]), 2);
	order_deinit(&order);
}

/* Records older than the newest of the previous round can no longer arrive. */
static void test_a_round_releases_the_previous_rounds_records(void **state)
{
	struct order order = { 0 };

	add(&order, 30, 0);
	add(&order, 10, 1);
	assert_int_equal(order_end_round(&order), 0);
	assert_int_equal(order_sort(&order, 0), 0);
	add(&order, 50, 2);
	add(&order, 20, 3); /* late, from another ring */
	assert_int_equal(order_end_round(&order), 30);
	assert_int_equal(order_sort(&order, 30), 3);
	assert_int_equal(number_of(&order.list[0]), 1);
	assert_int_equal(number_of(&order.list[1]), 3);
	assert_int_equal(number_of(&order.list[2]), 0);
	order_drop(&order, 3);
	assert_int_equal(order_end_round(&order), 50); /* an empty round */
	assert_int_equal(order_sort(&order, 50), 1);
	order_deinit(&order);
}

/* Records that perf synthesizes at its start, and files without PERF_SAMPLE_TIME. */
static void test_records_without_time_come_first_in_order(void **state)
{
	struct order order = { 0 };

	add(&order, 5, 0);
	add(&order, 0, 1);
	add(&order, 0, 2);
	assert_int_equal(order_sort(&order, 0), 2);
	assert_int_equal(number_of(&order.list[0]), 1);
	assert_int_equal(number_of(&order.list[1]), 2);
	order_deinit(&order);
}

static void test_too_many_bytes_release_the_older_half(void **state)
{
	static const struct perf_event_header bytes = { PERF_RECORD_SAMPLE, 0, 8 };
	struct ordered record = { .bytes = &bytes, .size = UINT16_MAX };
	struct order order = { 0 };
	size_t n = 0, n_gone;

	for (; !order_is_full(&order); n++) {
		record.time = 1000000 - n;
		assert_int_equal(order_add(&order, &record), 0);
	}
	assert_int_equal(n, ORDER_BYTES_MAX / UINT16_MAX + 1);
	n_gone = order_sort(&order, order_middle(&order));
	assert_int_equal(n_gone, n / 2 + 1);
	assert_int_equal(order.n_forced, 1);
	order_drop(&order, n_gone);
	assert_false(order_is_full(&order));
	assert_int_equal(order.n, n - n_gone);
	order_deinit(&order);
}

/* With a single time there is no older half, but the records must not be kept forever. */
static void test_too_many_bytes_of_one_time_are_released(void **state)
{
	static const struct perf_event_header bytes = { PERF_RECORD_SAMPLE, 0, 8 };
	struct ordered record = { .bytes = &bytes, .size = ORDER_BYTES_MAX / 2, .time = 7 };
	struct order order = { 0 };

	for (int i = 0; i < 3; i++)
		assert_int_equal(order_add(&order, &record), 0);
	assert_true(order_is_full(&order));
	assert_int_equal(order_sort(&order, order_middle(&order)), 3);
	order_deinit(&order);
}

static void test_a_copy_points_into_itself(void **state)
{
	uint64_t bytes[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct ordered record = {
		.size = sizeof(bytes),
		.bytes = (const void *)bytes,
		.sample = {
			.chain = (const uint8_t *)&bytes[1],
			.registers = (const uint8_t *)&bytes[3],
			.stack = (const uint8_t *)&bytes[5],
		},
	};
	struct order order = { 0 };

	assert_int_equal(order_add_copy(&order, &record), 0);
	record.sample = (struct parsed_sample){ 0 };
	assert_int_equal(order_add_copy(&order, &record), 0);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(layout_word(order.list[0].sample.chain, 0), 1);
	assert_int_equal(layout_word(order.list[0].sample.registers, 0), 3);
	assert_int_equal(layout_word(order.list[0].sample.stack, 2), 7);
	assert_null(order.list[1].sample.chain);
	assert_null(order.list[1].sample.registers);
	assert_null(order.list[1].sample.stack);
	order_deinit(&order);
}

static void test_lasting_bytes_are_not_copied(void **state)
{
	static const struct perf_event_header bytes = { PERF_RECORD_SAMPLE, 0, 8 };
	struct ordered record = { .size = 8, .bytes = &bytes };
	struct order order = { 0 };

	assert_int_equal(order_add(&order, &record), 0);
	assert_ptr_equal(order.list[0].bytes, &bytes);
	assert_null(order.list[0].owned);
	order_deinit(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_round),
		cmocka_unit_test(test_queued_records_are_sorted_by_time),
		cmocka_unit_test(test_equal_times_keep_their_order),
		cmocka_unit_test(test_equal_times_keep_the_order_of_arrival),
		cmocka_unit_test(test_a_round_releases_the_previous_rounds_records),
		cmocka_unit_test(test_records_without_time_come_first_in_order),
		cmocka_unit_test(test_too_many_bytes_release_the_older_half),
		cmocka_unit_test(test_too_many_bytes_of_one_time_are_released),
		cmocka_unit_test(test_a_copy_points_into_itself),
		cmocka_unit_test(test_lasting_bytes_are_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
