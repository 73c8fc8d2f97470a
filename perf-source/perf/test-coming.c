/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings in plain memory, filled as the kernel would fill them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/source/perf-record.h"
#include "perf-source/perf/coming.h"
#include "perf-source/perf/test-rings.h"

enum { RING_SIZE = 16384, RINGS = 3, SIDEBAND = 2, PID = 70 };

struct record {
	struct perf_record_task task;
	struct perf_record_id id;
};

static struct ring rings[RINGS];
static struct merge merge;
static struct coming coming;
static uint64_t last_time; /* of the last record */

static int set_up(void **state)
{
	test_rings_open(rings, RINGS, RING_SIZE);
	if (merge_init(&merge, rings, RINGS) < 0)
		return -1;
	return coming_init(&coming, &merge, SIDEBAND);
}

static int tear_down(void **state)
{
	coming_deinit(&coming);
	merge_deinit(&merge);
	test_rings_close(rings, RINGS);
	return 0;
}

static void put(size_t ring, uint32_t type, uint32_t pid, uint32_t tid, uint32_t parent)
{
	const struct record record = {
		.task = { .header = { type, 0, sizeof(record) },
			  .pid = pid,
			  .tid = tid,
			  .parent_pid = parent },
		.id = { .time = ++last_time },
	};

	assert_true(test_ring_put(&rings[ring], &record, sizeof(record)));
}

static void take(void)
{
	struct merge_record record;

	merge_look(&merge);
	assert_int_equal(merge_next(&merge, last_time, &record), 0);
	if (record.ring < SIDEBAND)
		coming_take(&coming, &record);
}

static void test_a_pending_record_is_coming_until_taken(void **state)
{
	assert_false(coming_changes(&coming, PID));
	put(0, PERF_RECORD_FORK, PID, PID, 1);
	put(1, PERF_RECORD_EXIT, PID, PID, 1);
	put(0, PERF_RECORD_EXIT, PID + 1, PID + 1, 1);
	assert_true(coming_changes(&coming, PID));
	assert_true(coming_changes(&coming, PID));
	take();
	assert_true(coming_changes(&coming, PID));
	take();
	assert_true(coming_changes(&coming, PID + 1));
	take();
	assert_false(coming_changes(&coming, PID));
	assert_false(coming_changes(&coming, PID + 1));
}

static void test_a_record_taken_earlier_is_not_coming(void **state)
{
	put(0, PERF_RECORD_FORK, PID, PID, 1);
	take();
	assert_false(coming_changes(&coming, PID));
	put(0, PERF_RECORD_FORK, PID, PID, 1);
	assert_true(coming_changes(&coming, PID));
	take();
	assert_false(coming_changes(&coming, PID));
}

static void test_threads_change_nothing(void **state)
{
	put(0, PERF_RECORD_FORK, PID, PID + 1, PID);
	put(0, PERF_RECORD_EXIT, PID, PID + 1, 1);
	put(2, PERF_RECORD_EXIT, PID, PID, 1); /* not a side-band ring */
	assert_false(coming_changes(&coming, PID));
}

static void test_no_pid_is_too_large(void **state)
{
	put(0, PERF_RECORD_EXIT, UINT32_MAX, UINT32_MAX, 1);
	put(0, PERF_RECORD_EXIT, COMING_PIDS_MAX - 1, COMING_PIDS_MAX - 1, 1);
	assert_false(coming_changes(&coming, UINT32_MAX));
	assert_true(coming_changes(&coming, COMING_PIDS_MAX - 1));
	take();
	take();
	assert_false(coming_changes(&coming, COMING_PIDS_MAX - 1));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_pending_record_is_coming_until_taken),
		TEST(test_a_record_taken_earlier_is_not_coming),
		TEST(test_threads_change_nothing),
		TEST(test_no_pid_is_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
