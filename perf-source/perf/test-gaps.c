/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small rings in plain memory, filled as the kernel would fill them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/source/perf-record.h"
#include "perf-source/perf/gaps.h"
#include "perf-source/perf/test-rings.h"

enum { RING_SIZE = 16384, RECORD_SIZE = 4096, RINGS = 2, LOOKED = 1000 };

static struct ring rings[RINGS];
static struct gaps gaps;
static uint64_t until;

static int set_up(void **state)
{
	test_rings_open(rings, RINGS, RING_SIZE);
	return gaps_init(&gaps, rings, RINGS);
}

static int tear_down(void **state)
{
	gaps_deinit(&gaps);
	test_rings_close(rings, RINGS);
	return 0;
}

static void put(struct ring *ring, uint32_t type, uint16_t size)
{
	static _Alignas(8) char record[RECORD_SIZE];
	const struct perf_event_header header = { type, 0, size };

	memcpy(record, &header, sizeof(header));
	assert_true(test_ring_put(ring, record, size));
}

static void put_many(struct ring *ring, int n)
{
	for (int i = 0; i < n; i++)
		put(ring, PERF_RECORD_MMAP2, RECORD_SIZE);
}

static bool look(void)
{
	for (size_t i = 0; i < RINGS; i++)
		ring_look(&rings[i]);
	return gaps_look(&gaps, LOOKED, &until);
}

static bool take(size_t ring, uint64_t time)
{
	const struct perf_event_header *header = ring_peek(&rings[ring]);

	assert_non_null(header);
	ring_advance(&rings[ring], header);
	return gaps_take(&gaps, ring, time, &until);
}

static void test_a_ring_with_room_has_lost_nothing(void **state)
{
	assert_false(look());
	put_many(&rings[0], 2);
	assert_false(look());
	assert_false(take(0, 10));
	assert_false(take(0, 20));
	ring_release(&rings[0]);
	assert_false(look());
}

/* Samples from before the record that reports the loss are unsure as well. */
static void test_a_gap_begins_behind_the_record_before(void **state)
{
	put_many(&rings[0], 1);
	put(&rings[0], PERF_RECORD_LOST, 48);
	put(&rings[0], PERF_RECORD_MMAP2, 48);
	assert_false(look());
	assert_true(take(0, 10));
	assert_int_equal(until, UINT64_MAX);
	assert_true(take(0, 20));
	assert_int_equal(until, 20);
	assert_false(take(0, 21));
	assert_false(look());
}

static void test_a_loss_may_come_first(void **state)
{
	put(&rings[1], PERF_RECORD_LOST, 48);
	assert_true(look());
	assert_int_equal(until, UINT64_MAX);
	assert_true(take(1, 20));
	assert_int_equal(until, 20);
}

/* The kernel reports a loss before the next record, for which the ring has no room yet. */
static void test_a_full_ring_may_have_lost_something(void **state)
{
	put_many(&rings[0], 3);
	assert_false(look());
	assert_false(take(0, 10));
	assert_false(take(0, 20));
	assert_true(take(0, 30));
	assert_int_equal(until, UINT64_MAX);
	assert_true(look()); /* no room was freed */
	assert_int_equal(until, UINT64_MAX);
	ring_release(&rings[0]);
	assert_true(look());
	assert_int_equal(until, LOOKED);
	assert_false(look());
}

static void test_a_full_ring_goes_on_with_its_next_record(void **state)
{
	put_many(&rings[0], 3);
	look();
	take(0, 10);
	take(0, 20);
	assert_true(take(0, 30));
	ring_release(&rings[0]);
	put_many(&rings[0], 1);
	assert_true(look());
	assert_int_equal(until, LOOKED);
	assert_false(take(0, 40));
}

/* The ring was full for a while between two looks. */
static void test_a_ring_that_fills_behind_a_look_is_noticed(void **state)
{
	put_many(&rings[0], 1);
	assert_false(look());
	put_many(&rings[0], 2);
	assert_false(take(0, 10));
	ring_release(&rings[0]);
	assert_false(look());
	assert_false(take(0, 20));
	assert_true(take(0, 30));
	ring_release(&rings[0]);
	assert_true(look());
	assert_int_equal(until, LOOKED);
}

static void test_a_gap_lasts_until_the_last_ring_has_none(void **state)
{
	for (size_t i = 0; i < RINGS; i++)
		put(&rings[i], PERF_RECORD_LOST, 48);
	assert_true(look());
	assert_true(take(0, 20));
	assert_int_equal(until, UINT64_MAX);
	assert_true(take(1, 30));
	assert_int_equal(until, 30);
}

static void test_a_cpu_without_a_ring_has_no_gap(void **state)
{
	ring_close(&rings[1]);
	assert_false(look());
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_ring_with_room_has_lost_nothing),
		TEST(test_a_gap_begins_behind_the_record_before),
		TEST(test_a_loss_may_come_first),
		TEST(test_a_full_ring_may_have_lost_something),
		TEST(test_a_full_ring_goes_on_with_its_next_record),
		TEST(test_a_ring_that_fills_behind_a_look_is_noticed),
		TEST(test_a_gap_lasts_until_the_last_ring_has_none),
		TEST(test_a_cpu_without_a_ring_has_no_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
