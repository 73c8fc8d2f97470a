/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A full profile keeps counting every sample, whatever its limits and its input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counts.h"

enum {
	PROCESSES = 6,
	THREADS = 3, /* per process */
	DEPTH_MAX = 12,
	PLACES = 30,
	ROUNDS = 400,
	SAMPLES = 3000,
};

static struct stage stage;
static struct stacks stacks;
static struct profile profile;
static uint64_t now, fed[PROCESSES + 1]; /* samples by process; 0: all */

static int add_frame(struct stage *of, struct stacks *from, const struct named_stack *stack,
		     const struct wire_frame *frame, const struct frame_name *name,
		     uint64_t *ret_value)
{
	return profile_add_frame(&profile, frame, name, ret_value);
}

static int add_stack(struct stage *of, struct stacks *from, const struct named_stack *stack,
		     uint64_t *ret_node)
{
	return profile_add_stack(&profile, stack, ret_node);
}

static int add_known_stack(struct stage *of, struct stacks *from, const struct named_stack *stack,
			   uint64_t node)
{
	return profile_add_known_stack(&profile, stack, node);
}

static void begin(struct profile_limits limits)
{
	static const struct stacks_user user = {
		.add_frame = add_frame,
		.add_stack = add_stack,
		.add_known_stack = add_known_stack,
	};
	struct wire_hello hello = { .event = "cpu-clock" };

	now = 1;
	memset(fed, 0, sizeof(fed));
	memset(&stacks, 0, sizeof(stacks));
	stacks_init(&stacks, &user);
	assert_int_equal(stacks_start(&stacks, &hello), 0);
	assert_int_equal(profile_init(&profile, &stacks), 0);
	profile.limits = limits;
	for (uint64_t i = 1; i <= PROCESSES; i++) {
		struct wire_process process = { .process = i,
						.pid = 100 * i,
						.name = wire_string("prog", 64) };

		assert_true(stacks_handle_process(&stage, &stacks, &process) >= 0);
	}
}

static void end(void)
{
	profile_deinit(&profile);
	stacks_deinit(&stacks);
	counters_deinit(&stage.counters);
}

/* Places are unmapped addresses; each is a location of its own. */
static void sample(uint64_t process, uint32_t thread, const uint8_t *places, size_t n,
		   uint64_t n_samples)
{
	struct wire_frame frames[DEPTH_MAX];
	struct wire_stack stack = { .time = now++,
				    .process = process,
				    .tid = 100 * process + thread,
				    .weight = 7 * n_samples,
				    .n_samples = n_samples,
				    .end = WIRE_stack_end_COMPLETE,
				    .frames = { frames, n } };

	for (size_t i = 0; i < n; i++)
		frames[i] = (struct wire_frame){ .address = 0x1000 + places[i] };
	fed[0] += n_samples;
	fed[process] += n_samples;
	assert_int_equal(stacks_handle_stack(&stage, &stacks, &stack), 0);
}

static uint64_t count_of(uint64_t process)
{
	uint64_t n = 0;

	for (size_t i = 0; i < profile.n_samples; i++) {
		const struct profile_thread *thread = &profile.threads[profile.samples[i].thread];

		if (profile.processes[thread->process].number == process)
			n += profile.samples[i].n;
	}
	return n;
}

static void check_structure(void)
{
	for (size_t i = 1; i < profile.n_nodes; i++) {
		assert_true(profile.nodes[i].parent < i);
		assert_in_range(profile.nodes[i].location, 1, profile.n_locations - 1);
	}
	for (size_t i = 1; i < profile.n_locations; i++)
		assert_true(profile.locations[i].first_call + profile.locations[i].n_calls <=
			    profile.n_calls);
	for (size_t i = 0; i < profile.n_samples; i++) {
		assert_true(profile.samples[i].node < profile.n_nodes);
		assert_int_equal(profile.samples[i].weight, 7 * profile.samples[i].n);
		if (i)
			assert_true(profile.samples[i - 1].time <= profile.samples[i].time);
	}
}

/* All samples fed are present, in the right process, by every way of counting. */
static void check(void)
{
	static const struct counts_filter all;
	struct counts counts;
	struct tree tree;
	uint64_t n_ends = 0, ends[STACKS_ENDS] = { 0 };

	check_structure();
	for (size_t i = 0; i < profile.n_samples; i++)
		ends[profile.samples[i].end] += profile.samples[i].n;
	assert_memory_equal(stacks.n_ends, ends, sizeof(ends));
	assert_int_equal(profile_settle(&profile, &stage), 0);
	assert_int_equal(profile_sum(&profile, (struct view){ 0 }), fed[0]);
	assert_int_equal(profile_sum(&profile, (struct view){ VIEW_WEIGHTS }), 7 * fed[0]);
	for (uint64_t i = 1; i <= PROCESSES && !profile.crowd; i++)
		assert_int_equal(count_of(i), fed[i]);
	for (size_t i = 0; i < STACKS_ENDS; i++)
		n_ends += stacks.n_ends[i];
	assert_int_equal(n_ends, fed[0]);
	assert_int_equal(tree_init(&tree, &profile, TREE_OF_FUNCTIONS), 0);
	assert_int_equal(counts_init(&counts, &tree, &all), 0);
	assert_int_equal(counts.total[0], fed[0]);
	assert_int_equal(counts.n, fed[0]);
	counts_deinit(&counts);
	tree_deinit(&tree);
}

static size_t between(size_t low, size_t high)
{
	return low + rand() % (high - low + 1);
}

static void feed_anything(void)
{
	size_t n = between(1, SAMPLES), depth = between(1, DEPTH_MAX),
	       n_places = between(1, PLACES);
	uint8_t places[DEPTH_MAX];

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < DEPTH_MAX; k++)
			places[k] = rand() % n_places;
		sample(between(1, PROCESSES), rand() % THREADS, places, rand() % (depth + 1),
		       rand() % 8 ? 1 : between(1, 1000));
	}
}

static void test_no_sample_is_skipped(void **state)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		srand(round);
		begin((struct profile_limits){
			.samples = between(PROCESSES * (THREADS + 1) * 2, 400),
			.nodes = between(8, 400),
			.locations = between(4, 60),
			.calls = between(4, 60),
			.threads = between(1, 30),
			.processes = between(1, 8),
		});
		feed_anything();
		check();
		assert_true(profile.n_samples <= profile.limits.samples);
		assert_true(profile.n_nodes <= profile.limits.nodes + STACKS_ENDS);
		end();
	}
}

/* The samples of a process with this end reason. */
static uint64_t count_ends(uint64_t process, enum wire_stack_end reason)
{
	uint64_t n = 0;

	for (size_t i = 0; i < profile.n_samples; i++) {
		const struct profile_sample *at = &profile.samples[i];

		if (profile.processes[profile.threads[at->thread].process].number == process &&
		    at->end == reason)
			n += at->n;
	}
	return n;
}

static const struct profile_limits small = { .samples = 100000,
					     .nodes = 2000,
					     .locations = 100,
					     .calls = 100,
					     .threads = 100,
					     .processes = 100 };

/* One process, or five, with stacks that all differ, and one that begins late. */
static void flood(size_t n_processes)
{
	static const uint8_t work[] = { 40, 41, 42, 43 }, rare[] = { 44, 45, 42, 43 };
	uint8_t places[DEPTH_MAX];

	srand(1);
	begin(small);
	for (int i = 0; i < 20000; i++) {
		for (size_t k = 0; k < DEPTH_MAX; k++)
			places[k] = rand() % 30;
		sample(2 + i % n_processes, 0, places, DEPTH_MAX, 1);
		if (i >= 10000)
			sample(1, 0, i % 100 ? work : rare, 4, 1);
	}
	check();
	assert_int_equal(count_ends(1, WIRE_stack_end_COMPLETE), fed[1]);
	assert_true(count_ends(2, WIRE_stack_end_MORE_STACKS) > 1000);
	end();
}

static void test_no_process_evicts_stacks_that_others_need(void **state)
{
	flood(1);
	flood(5);
}

static void test_a_profile_that_holds_still_keeps_numbers(void **state)
{
	uint8_t places[DEPTH_MAX];

	begin(small);
	profile.holds_still = true;
	for (int i = 0; i < 3000; i++) {
		for (size_t k = 0; k < DEPTH_MAX; k++)
			places[k] = rand() % 30;
		sample(1, 0, places, DEPTH_MAX, 1);
	}
	check();
	assert_true(count_ends(1, WIRE_stack_end_MORE_STACKS) > 1000);
	assert_false(profile.has_repeats);
	end();
}

static void test_counts_have_64_bits(void **state)
{
	begin(small);
	sample(1, 0, (const uint8_t[]){ 1, 2 }, 2, 5000000000);
	sample(2, 0, (const uint8_t[]){ 1, 3 }, 2, 20000000000);
	check();
	assert_int_equal(profile.n_samples, 2);
	assert_int_equal(stacks.n_ends[WIRE_stack_end_COMPLETE], 25000000000);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_sample_is_skipped),
		cmocka_unit_test(test_no_process_evicts_stacks_that_others_need),
		cmocka_unit_test(test_a_profile_that_holds_still_keeps_numbers),
		cmocka_unit_test(test_counts_have_64_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
