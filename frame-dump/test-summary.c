/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame-dump/summary.h"

static struct summary summary;
static uint64_t totals[WIRE_TYPE_MAX];
static char *text;

static int set_up(void **state)
{
	summary = (struct summary){ 0 };
	memset(totals, 0, sizeof(totals));
	text = NULL;
	return 0;
}

static int tear_down(void **state)
{
	free(text);
	return 0;
}

static void stage(const char *name, uint64_t samples_in, uint64_t samples_out)
{
	struct wire_stats stats = { .stage = wire_string(name, 64),
				    .samples_in = samples_in,
				    .samples_out = samples_out };

	summary_add_stats(&summary, &stats);
}

static void count(const char *name, const char *group, uint64_t value)
{
	struct wire_count record = { .stage = wire_string(name, 64),
				     .group = wire_string(group, 64),
				     .name = wire_string("reason", 64),
				     .value = value };

	summary_add_count(&summary, &record);
}

static void stack(uint32_t end)
{
	struct wire_stack record = { .end = end };

	summary_add_stack(&summary, &record);
	totals[WIRE_RECORD_stack]++;
}

/* Returns whether the counts add up; the output is in `text`. */
static bool print(void)
{
	size_t size;
	FILE *out;
	bool good;

	free(text);
	out = open_memstream(&text, &size);
	summary.n_samples = totals[WIRE_RECORD_sample] + totals[WIRE_RECORD_stack];
	good = summary_print(out, &summary, totals);
	fclose(out);
	return good;
}

static void test_a_stream_that_adds_up(void **state)
{
	stage("perf-source", 10, 8);
	count("perf-source", "dropped", 1);
	count("perf-source", "dropped", 1);
	count("perf-source", "events", 99); /* irrelevant */
	stage("live-unwinder", 8, 8);
	for (int i = 0; i < 6; i++)
		stack(WIRE_stack_end_COMPLETE);
	stack(WIRE_stack_end_TRUNCATED);
	stack(WIRE_stack_end_TRUNCATED);
	assert_true(print());
	assert_non_null(strstr(text, "everything adds up\n"));
	assert_null(strstr(text, "NOT"));
	assert_non_null(strstr(text, "complete                6  75.00 %"));
	assert_non_null(strstr(text, "stack-truncated         2  25.00 %"));
}

static void test_an_unreported_loss_does_not_add_up(void **state)
{
	stage("perf-source", 10, 8);
	count("perf-source", "dropped", 1);
	totals[WIRE_RECORD_sample] = 8;
	assert_false(print());
	assert_non_null(strstr(text, "DOES NOT ADD UP"));
	assert_non_null(strstr(text, "NOT everything adds up\n"));
	count("perf-source", "dropped", 1);
	assert_true(print());
	count("perf-source", "dropped", 1); /* nor may a stage drop more than it received */
	assert_false(print());
}

static void test_samples_that_are_lost_between_two_stages(void **state)
{
	stage("perf-source", 10, 10);
	stage("live-unwinder", 9, 9);
	totals[WIRE_RECORD_stack] = 9;
	assert_false(print());
	assert_non_null(strstr(text, "perf-source wrote 10 samples, live-unwinder read 9"));
}

static void test_missing_samples_do_not_add_up(void **state)
{
	stage("perf-source", 10, 10);
	totals[WIRE_RECORD_sample] = 9;
	assert_false(print());
	assert_non_null(strstr(text, "9 samples, the last stage wrote 10"));
	totals[WIRE_RECORD_stack] = 1; /* some unwound, some not */
	assert_true(print());
}

static void test_a_stage_may_occur_twice(void **state)
{
	stage("live-unwinder", 10, 9);
	count("live-unwinder", "dropped", 1);
	stage("live-unwinder", 9, 7);
	count("live-unwinder", "dropped", 2);
	totals[WIRE_RECORD_stack] = 7;
	assert_true(print());
}

static void test_counters_of_unknown_stages_are_ignored(void **state)
{
	count("nobody", "dropped", 5);
	stage("perf-source", 1, 1);
	count("nobody", "dropped", 5);
	totals[WIRE_RECORD_sample] = 1;
	assert_true(print());
}

static void test_without_stages_there_is_nothing_to_add_up(void **state)
{
	assert_true(print());
	totals[WIRE_RECORD_sample] = 5;
	totals[200] = 3;
	assert_true(print());
	assert_non_null(strstr(text, "type 200                3"));
}

static void test_more_stages_than_the_limit_do_not_add_up(void **state)
{
	for (int i = 0; i <= SUMMARY_STAGES_MAX; i++)
		stage("stage", 5, 5);
	totals[WIRE_RECORD_sample] = 5;
	assert_int_equal(summary.n_stages, SUMMARY_STAGES_MAX);
	assert_int_equal(summary.n_refused, 1);
	assert_false(print());
}

static void test_an_unknown_end_reason_is_harmless(void **state)
{
	stack(0);
	stack(15);
	stack(16);
	stack(UINT32_MAX);
	assert_true(print());
	assert_int_equal(summary.n_stacks, 4);
}

static void test_the_longest_name_is_whole(void **state)
{
	char name[65];

	memset(name, 'n', 64);
	name[64] = 0;
	stage(name, 3, 1);
	count(name, "dropped", 2);
	totals[WIRE_RECORD_sample] = 1;
	assert_true(print());
	assert_non_null(strstr(text, name));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_stream_that_adds_up),
		TEST(test_an_unreported_loss_does_not_add_up),
		TEST(test_samples_that_are_lost_between_two_stages),
		TEST(test_missing_samples_do_not_add_up),
		TEST(test_a_stage_may_occur_twice),
		TEST(test_counters_of_unknown_stages_are_ignored),
		TEST(test_without_stages_there_is_nothing_to_add_up),
		TEST(test_more_stages_than_the_limit_do_not_add_up),
		TEST(test_an_unknown_end_reason_is_harmless),
		TEST(test_the_longest_name_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
