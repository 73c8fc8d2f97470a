/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings in plain memory, filled as the kernel would fill them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/source/perf-record.h"
#include "perf-source/perf/merge.h"
#include "perf-source/perf/test-rings.h"

enum { RING_SIZE = 4096, RINGS = 3 };

static struct ring rings[RINGS];
static struct merge merge;

static int set_up(void **state)
{
	test_rings_open(rings, RINGS, RING_SIZE);
	return merge_init(&merge, rings, RINGS);
}

static int tear_down(void **state)
{
	merge_deinit(&merge);
	test_rings_close(rings, RINGS);
	return 0;
}

/* An exit record; `padding` bytes before its tail hold its number. */
static bool put_event(size_t ring, uint64_t time, unsigned char number, size_t padding)
{
	_Alignas(8) char record[RING_SIZE];
	struct perf_event_header header = { PERF_RECORD_EXIT, 0,
					    8 + padding + sizeof(struct perf_record_id) };
	struct perf_record_id id = { number, number, time, 0, ring, 0 };

	memcpy(record, &header, sizeof(header));
	memset(record + 8, number, padding);
	memcpy(record + 8 + padding, &id, sizeof(id));
	return test_ring_put(&rings[ring], record, header.size);
}

/* Checks that the next event is whole and from that ring; returns its number, 0: none. */
static uint32_t next(uint64_t until, size_t ring, uint64_t time)
{
	struct merge_record record;
	const unsigned char *padding;
	uint32_t number;

	if (merge_next(&merge, until, &record) == -ENODATA)
		return 0;
	assert_int_equal(record.ring, ring);
	assert_int_equal(record.time, time);
	number = perf_record_id(record.header)->pid;
	padding = (const void *)(record.header + 1);
	for (size_t i = 0;
	     i < record.header->size - sizeof(*record.header) - sizeof(struct perf_record_id); i++)
		assert_int_equal(padding[i], number);
	return number;
}

static void test_rings_are_merged_by_time(void **state)
{
	put_event(0, 10, 1, 8);
	put_event(0, 40, 4, 8);
	put_event(1, 20, 2, 8);
	put_event(1, 50, 5, 8);
	put_event(2, 30, 3, 8);
	merge_look(&merge);
	assert_int_equal(next(100, 0, 10), 1);
	assert_int_equal(next(100, 1, 20), 2);
	assert_int_equal(next(100, 2, 30), 3);
	assert_int_equal(next(100, 0, 40), 4);
	assert_int_equal(next(100, 1, 50), 5);
	assert_int_equal(next(100, 0, 0), 0);
	assert_int_equal(merge.n_late, 0);
}

static void test_side_band_goes_first_at_equal_times(void **state)
{
	put_event(2, 10, 3, 8);
	put_event(1, 10, 2, 8);
	put_event(0, 10, 1, 8);
	merge_look(&merge);
	assert_int_equal(next(100, 0, 10), 1);
	assert_int_equal(next(100, 1, 10), 2);
	assert_int_equal(next(100, 2, 10), 3);
}

static void test_young_records_are_held_back(void **state)
{
	put_event(0, 10, 1, 8);
	put_event(0, 20, 2, 8);
	merge_look(&merge);
	assert_int_equal(next(9, 0, 0), 0);
	assert_int_equal(next(10, 0, 10), 1);
	assert_int_equal(next(19, 0, 0), 0);
	assert_int_equal(next(20, 0, 20), 2);
}

static void test_records_within_the_slack_are_held_back(void **state)
{
	uint64_t before = clock_now(CLOCK_MONOTONIC), until = merge_look(&merge);

	assert_in_range(until, before - MERGE_SLACK_NS,
			clock_now(CLOCK_MONOTONIC) - MERGE_SLACK_NS);
}

static void test_late_records_get_the_last_time(void **state)
{
	put_event(0, 50, 1, 8);
	merge_look(&merge);
	assert_int_equal(next(100, 0, 50), 1);
	put_event(1, 30, 2, 8);
	put_event(1, 60, 3, 8);
	merge_look(&merge);
	assert_int_equal(next(100, 1, 50), 2);
	assert_int_equal(merge.n_late, 1);
	assert_int_equal(next(100, 1, 60), 3);
	assert_int_equal(merge.n_late, 1);
}

static void test_a_record_without_a_time_is_handed_out_at_once(void **state)
{
	struct perf_event_header bare = { PERF_RECORD_THROTTLE, 0, 8 };
	struct merge_record record;

	merge.last_time = 77;
	test_ring_put(&rings[1], &bare, 8);
	put_event(0, 80, 1, 8);
	merge_look(&merge);
	assert_int_equal(merge_next(&merge, 100, &record), 0);
	assert_int_equal(record.header->type, PERF_RECORD_THROTTLE);
	assert_int_equal(record.time, 77);
	assert_int_equal(next(100, 0, 80), 1);
}

static void test_records_after_the_look_are_not_seen(void **state)
{
	put_event(0, 10, 1, 8);
	merge_look(&merge);
	put_event(0, 20, 2, 8);
	assert_int_equal(next(100, 0, 10), 1);
	assert_int_equal(next(100, 0, 0), 0);
	merge_look(&merge);
	assert_int_equal(next(100, 0, 20), 2);
}

/* A record at every position relative to the end of the ring, many times around. */
static void test_records_over_the_end_of_the_ring_are_whole(void **state)
{
	for (unsigned int i = 1; i <= 3000; i++) {
		unsigned char number = i % 255 + 1;
		size_t padding = i * 40 % 1600;

		assert_true(put_event(i % RINGS, i, number, padding));
		merge_look(&merge);
		assert_int_equal(next(i, i % RINGS, i), number);
		merge_release(&merge);
		assert_int_equal(rings[i % RINGS].page->data_tail,
				 rings[i % RINGS].page->data_head);
	}
	assert_true(rings[0].page->data_head > 10 * RING_SIZE);
}

/* A record across the end that is not yet released must stay whole while other records are read. */
static void test_a_record_stays_until_it_is_released(void **state)
{
	struct merge_record records[8];
	const unsigned char *bytes;
	int n = 0;

	for (unsigned int i = 1; i <= 9; i++) { /* moves the position near the end */
		assert_true(put_event(0, i, i, 400));
		merge_look(&merge);
		assert_int_equal(next(i, 0, i), i);
		merge_release(&merge);
	}
	for (unsigned int i = 0; put_event(0, 100 + i, 50 + i, 472); i++)
		;
	merge_look(&merge);
	while (merge_next(&merge, 200, &records[n]) == 0)
		n++;
	assert_int_equal(n, 8);
	for (int i = 0; i < n; i++) {
		assert_int_equal(perf_record_id(records[i].header)->pid, 50 + i);
		bytes = (const void *)(records[i].header + 1);
		for (size_t k = 0; k < 472; k++)
			assert_int_equal(bytes[k], 50 + i);
	}
	/* The kernel has no room before the release and all of it afterwards. */
	assert_false(put_event(0, 300, 1, 472));
	merge_release(&merge);
	assert_true(put_event(0, 300, 1, 472));
}

static int collect(const struct perf_event_header *header, void *arg)
{
	char *seen = arg;
	uint32_t number = perf_record_id(header)->pid;

	seen[strlen(seen)] = '0' + number;
	return number == 7 ? 42 : 0;
}

static void test_looking_ahead_takes_nothing(void **state)
{
	char seen[16] = "";
	uint64_t position = 0;

	put_event(0, 10, 1, 1200);
	put_event(0, 20, 2, 1200);
	merge_look(&merge);
	assert_int_equal(next(100, 0, 10), 1);
	assert_int_equal(next(100, 0, 20), 2);
	merge_release(&merge);
	put_event(0, 30, 3, 1200);
	put_event(0, 40, 4, 1200); /* crosses the end */
	merge_look(&merge);
	assert_int_equal(next(100, 0, 30), 3);
	put_event(0, 50, 5, 472); /* after the last look */
	assert_int_equal(merge_look_ahead(&merge, 0, &position, collect, seen), 0);
	assert_string_equal(seen, "45");
	assert_int_equal(next(100, 0, 40), 4);
	merge_look(&merge);
	assert_int_equal(next(100, 0, 50), 5);
}

static void test_looking_ahead_stops_on_request(void **state)
{
	char seen[16] = "";
	uint64_t position = 0;

	put_event(1, 10, 6, 8);
	put_event(1, 20, 7, 8);
	put_event(1, 30, 8, 8);
	assert_int_equal(merge_look_ahead(&merge, 1, &position, collect, seen), 42);
	assert_string_equal(seen, "67");
}

static void test_looking_ahead_resumes_at_its_position(void **state)
{
	char seen[16] = "";
	uint64_t position = 0;

	put_event(0, 10, 1, 8);
	put_event(0, 20, 2, 8);
	assert_int_equal(merge_look_ahead(&merge, 0, &position, collect, seen), 0);
	put_event(0, 30, 3, 8);
	assert_int_equal(merge_look_ahead(&merge, 0, &position, collect, seen), 0);
	assert_string_equal(seen, "123");
	put_event(0, 40, 4, 8);
	merge_look(&merge);
	for (int number = 1; number <= 4; number++) /* records taken are not shown again */
		assert_int_equal(next(100, 0, 10 * number), number);
	put_event(0, 50, 5, 8);
	assert_int_equal(merge_look_ahead(&merge, 0, &position, collect, seen), 0);
	assert_string_equal(seen, "1235");
}

/* Its CPU was offline, and the new ring begins anew. */
static void test_a_position_of_another_ring_is_none(void **state)
{
	char seen[16] = "";
	uint64_t position = 100000;

	put_event(0, 10, 1, 8);
	put_event(0, 20, 2, 8);
	assert_int_equal(merge_look_ahead(&merge, 0, &position, collect, seen), 0);
	assert_string_equal(seen, "12");
}

static void test_a_ring_that_cannot_be_mapped_is_closed(void **state)
{
	int ends[2];
	struct ring ring;

	assert_int_equal(pipe(ends), 0);
	assert_true(ring_open(&ring, ends[0], RING_SIZE) < 0);
	assert_int_equal(close(ends[0]), -1); /* ring_open() has closed it */
	close(ends[1]);
	ring_close(&ring);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_rings_are_merged_by_time),
		TEST(test_side_band_goes_first_at_equal_times),
		TEST(test_young_records_are_held_back),
		TEST(test_records_within_the_slack_are_held_back),
		TEST(test_late_records_get_the_last_time),
		TEST(test_a_record_without_a_time_is_handed_out_at_once),
		TEST(test_records_after_the_look_are_not_seen),
		TEST(test_records_over_the_end_of_the_ring_are_whole),
		TEST(test_a_record_stays_until_it_is_released),
		TEST(test_looking_ahead_takes_nothing),
		TEST(test_looking_ahead_stops_on_request),
		TEST(test_looking_ahead_resumes_at_its_position),
		TEST(test_a_position_of_another_ring_is_none),
		cmocka_unit_test(test_a_ring_that_cannot_be_mapped_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
