/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "perf-source/off-cpu/wait-threshold.h"

#define MS 1000000ULL

enum { N_CPUS = 2, STEPS = 20 };

static struct wait_threshold threshold;
static uint64_t now;

static int set_up(void **state)
{
	now = NANOSECONDS_A_SECOND;
	wait_threshold_init(&threshold, 0, N_CPUS);
	wait_threshold_begin(&threshold, now, SWITCH_IN_KERNEL_COSTS_NS);
	return 0;
}

static void emit(uint64_t n, uint64_t weight)
{
	while (n-- > 0)
		wait_threshold_count_emitted(&threshold, weight);
}

/* These numbers per second. Switches are reported every second, waits as they end. */
static void pass(int seconds, uint64_t n_switches, uint64_t n_waits, uint64_t duration)
{
	for (int i = 0; i < seconds * STEPS; i++) {
		now += NANOSECONDS_A_SECOND / STEPS;
		emit(n_waits / STEPS, duration);
		if (i % STEPS == STEPS - 1)
			wait_threshold_count_switches(&threshold, n_switches);
		wait_threshold_adapt(&threshold, now);
	}
}

static void test_a_calm_machine_emits_all_waits(void **state)
{
	pass(10, 1000, 900, MS);
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_DEFAULT_NS);
	assert_int_equal(threshold.highest_ns, WAIT_THRESHOLD_DEFAULT_NS);
}

static void test_earlier_counts_change_nothing(void **state)
{
	assert_false(wait_threshold_adapt(&threshold, 0));
	pass(1, 1000, 900, MS);
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_DEFAULT_NS);
}

static void test_the_cost_of_switches_reduces_the_budget(void **state)
{
	pass(2, 10000, 0, 0);
	pass(1, 10000, 380, MS); /* 8 of 20 ms are left */
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_DEFAULT_NS);
	pass(1, 10000, 500, MS);
	assert_true(threshold.ns > MS && threshold.ns <= 4 * MS);
}

static void test_some_waits_are_always_affordable(void **state)
{
	pass(2, 1000000, 0, 0);
	pass(5, 1000000, 80, MS);
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_DEFAULT_NS);
	pass(1, 1000000, 120, MS);
	assert_true(threshold.ns > MS);
}

static void test_switches_that_cost_more_leave_less(void **state)
{
	wait_threshold_begin(&threshold, now, SWITCH_BY_RECORDS_COSTS_NS);
	pass(2, 5000, 0, 0);
	pass(1, 5000, 400, MS);
	assert_true(threshold.ns > MS);
}

static void test_it_rises_in_steps_and_falls_at_once(void **state)
{
	now += WAIT_THRESHOLD_RISE_NS;
	emit(250, 30 * MS); /* a burst */
	assert_false(wait_threshold_adapt(&threshold, now));
	for (uint64_t step = 1600000; step < 30 * MS; step *= WAIT_THRESHOLD_STEP) {
		now += WAIT_THRESHOLD_RISE_NS;
		emit(300, 30 * MS);
		assert_true(wait_threshold_adapt(&threshold, now));
		assert_int_equal(threshold.ns, step);
	}
	pass(1, 100, 100, 30 * MS); /* 500 are allowed: half of what is affordable */
	assert_int_equal(threshold.ns, threshold.highest_ns / 4);
	pass(1, 100, 0, 0);
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_DEFAULT_NS);
}

/* A calm period before a burst must not make the burst's rate look lower. */
static void test_the_threshold_follows_a_burst_at_once(void **state)
{
	pass(3, 1000, 100, 0);
	now += WAIT_THRESHOLD_SPAN_NS - WAIT_THRESHOLD_RISE_NS;
	wait_threshold_adapt(&threshold, now);
	now += WAIT_THRESHOLD_RISE_NS;
	emit(300, MS);
	assert_true(wait_threshold_adapt(&threshold, now));
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_DEFAULT_NS * WAIT_THRESHOLD_STEP);
}

static void test_the_threshold_has_a_maximum(void **state)
{
	pass(5, 1000, 100000, 10 * NANOSECONDS_A_SECOND);
	assert_int_equal(threshold.ns, WAIT_THRESHOLD_MAX_NS);
}

static void test_a_given_threshold_is_kept(void **state)
{
	wait_threshold_init(&threshold, 5000, N_CPUS);
	wait_threshold_begin(&threshold, now, SWITCH_IN_KERNEL_COSTS_NS);
	pass(5, 100000, 100000, MS);
	assert_int_equal(threshold.ns, 5000);
}

/* Samples waits of alternating durations; returns each duration's share of the emitted weight. */
static void sample_in_turns(const uint64_t *durations, size_t n, double *ret)
{
	struct short_waits waits = { 0 };
	uint64_t emitted[4] = { 0 }, all = 0, sum = 0;

	for (int i = 0; i < 200000; i++) {
		uint64_t weight = wait_threshold_sample(&threshold, &waits, durations[i % n]);

		all += durations[i % n];
		emitted[i % n] += weight;
		sum += weight;
		assert_true(!weight || weight >= threshold.ns);
	}
	assert_int_equal(sum + waits.pending_ns, all);
	for (size_t i = 0; i < n; i++)
		ret[i] = (double)emitted[i] / sum;
}

static void test_alternating_waits_are_sampled_in_proportion(void **state)
{
	static const uint64_t halves[] = { WAIT_THRESHOLD_DEFAULT_NS / 2,
					   WAIT_THRESHOLD_DEFAULT_NS / 2 },
			      nearly[] = { 90000, 10000 }, mixed[] = { 1000, 20000, 70000, 9000 };
	double parts[4];

	sample_in_turns(halves, 2, parts);
	assert_true(parts[0] > 0.49 && parts[0] < 0.51);
	sample_in_turns(nearly, 2, parts);
	assert_true(parts[1] > 0.095 && parts[1] < 0.105);
	sample_in_turns(mixed, 4, parts);
	assert_true(parts[0] > 0.008 && parts[0] < 0.012);
	assert_true(parts[2] > 0.69 && parts[2] < 0.71);
}

static void test_a_threshold_that_falls_leaves_nothing_behind(void **state)
{
	struct short_waits waits = { .gap_ns = 5000 };

	assert_int_equal(wait_threshold_sample(&threshold, &waits, 99000), 95000);
	assert_int_equal(waits.pending_ns, 4000);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_calm_machine_emits_all_waits),
		TEST(test_earlier_counts_change_nothing),
		TEST(test_the_cost_of_switches_reduces_the_budget),
		TEST(test_some_waits_are_always_affordable),
		TEST(test_switches_that_cost_more_leave_less),
		TEST(test_it_rises_in_steps_and_falls_at_once),
		TEST(test_the_threshold_follows_a_burst_at_once),
		TEST(test_the_threshold_has_a_maximum),
		TEST(test_a_given_threshold_is_kept),
		TEST(test_alternating_waits_are_sampled_in_proportion),
		TEST(test_a_threshold_that_falls_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
