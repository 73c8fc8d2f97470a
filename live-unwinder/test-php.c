/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of PHP become frames inside of the activations that execute them, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/php-walk.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	WINDOW = 64,
	LINE = 40,
	TOP = 1 << 17,
	GENERATOR = 1 << 24,
	/* Functions; the first three are of the script. */
	FUNCTION = 0x100000,
	STEP = 0x1000,
	N_FUNCTIONS = 6,
	NO_FUNCTION = 5,
	N_OF_SCRIPT = 3,
	INTERNAL = 4,
	FIBER = 6,		 /* internal, and without a name */
	LOOPS = 1 << 1 | 1 << 3, /* frames of C that are of the loop */
	RESUME = 0x600000,
	RESUME_SIZE = 0x200,
	CALL = 0x900000,
};

static const struct php_fields fields = {
	.frame_function = 24,
	.frame_info = 40,
	.frame_previous = 48,
	.frame_line = 56,
	.function_name = 8,
	.function_class = 16,
	.resume_from = RESUME,
	.resume_to = RESUME + RESUME_SIZE,
};

static struct code_table codes;
static struct script_stack stack;

static uint64_t call_of(uint16_t i)
{
	return CALL + i * STEP;
}

/* Adds a call of a function; 0: of none. */
static void add_call(int function, uint32_t info)
{
	uint64_t window[WINDOW / 8] = { 0 };

	window[3] = function ? FUNCTION + function * STEP : 0;
	window[5] = info;
	window[7] = LINE + function;
	test_walk_add(call_of(test_walk.n), function ? IDENTITY : 0, window);
}

static enum script_outcome read_until(uint16_t end)
{
	return php_walk_read(&fields, &codes, test_walk_end(end), &stack);
}

static enum script_outcome read_walk(void)
{
	return read_until(WIRE_walk_end_END);
}

/* Function 1, called by a compiled one, which function 2 calls; that is called by 3. */
static void make_walk(void)
{
	test_walk_begin(WINDOW);
	add_call(1, TOP);
	add_call(INTERNAL, 0);
	add_call(2, 0);
	add_call(3, TOP);
}

static int set_up(void **state)
{
	code_table_init(&codes);
	for (uint64_t i = 1; i <= N_FUNCTIONS; i++) {
		const uint8_t type = i <= N_OF_SCRIPT ? 2 : i == INTERNAL || i == FIBER ? 1 : 9;
		const uint64_t function[] = { type, i == FIBER ? 0 : 0x700000, 0 };
		const struct wire_memory record = {
			.process = PROCESS,
			.address = FUNCTION + i * STEP,
			.identity = IDENTITY,
			.number = i,
			.bytes = { (const char *)function, sizeof(function) },
		};

		assert_int_equal(
			code_table_add(&codes, &record, php_function_kind(&fields, &record)), 0);
	}
	test_c_begin(PROCESS, LOOPS);
	make_walk();
	return 0;
}

static int tear_down(void **state)
{
	code_table_deinit(&codes);
	return 0;
}

static void check_refused(enum script_outcome outcome)
{
	assert_int_equal(read_walk(), outcome);
	assert_int_equal(stack.n, 0);
	assert_int_equal(stack.n_segments, 0);
}

/* What is behind its begin is of whoever has resumed it. */
static void test_a_fiber_ends_what_its_stack_executes(void **state)
{
	test_walk_begin(WINDOW);
	add_call(1, TOP);
	add_call(FIBER, 0);
	add_call(INTERNAL, 0);
	add_call(2, 0);
	add_call(5, TOP);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 1);
	assert_int_equal(stack.n_segments, 1);
	test_walk_begin(WINDOW);
	add_call(1, 0);
	add_call(FIBER, 0);
	check_refused(SCRIPT_TORN);
}

static enum script_outcome merge(void)
{
	stack.language = SCRIPT_PHP;
	return script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding);
}

static void test_a_segment_ends_with_what_c_has_called(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 4);
	assert_int_equal(stack.places[0], script_place(1, LINE + 1));
	assert_int_equal(stack.places[1], script_place(INTERNAL, 0));
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 1);
	assert_int_equal(stack.segments[1].n, 3);
	assert_int_equal(stack.segments[1].anchor, call_of(2));
	assert_int_equal(stack.segments[1].entry, call_of(3));
}

static void test_compiled_functions_outside_of_scripts_are_left_out(void **state)
{
	add_call(INTERNAL, TOP);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 4);
	test_walk_begin(WINDOW);
	add_call(INTERNAL, TOP);
	check_refused(SCRIPT_NO_FRAMES);
}

static void test_lists_between_two_states(void **state)
{
	test_walk_begin(WINDOW);
	add_call(1, 0); /* whose caller is missing */
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_call(1, 0); /* a compiled function executes no call of the script's code */
	add_call(INTERNAL, TOP);
	add_call(2, TOP);
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_call(NO_FUNCTION, TOP);
	check_refused(SCRIPT_TORN);
	make_walk();
	assert_int_equal(read_until(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 0);
}

static void test_functions_that_the_stream_does_not_have(void **state)
{
	test_walk_begin(WINDOW);
	add_call(N_FUNCTIONS + 1, TOP);
	check_refused(SCRIPT_UNKNOWN);
}

/* Function 1 is a generator, to which 2 delegates, and to that 3, which some other call resumes. */
static void make_delegating(uint32_t info)
{
	uint64_t back = call_of(4);

	test_walk_begin(WINDOW);
	add_call(1, TOP | GENERATOR);
	add_call(0, 0);
	memcpy(test_walk_window(1) + fields.frame_previous, &back, sizeof(back));
	add_call(3, TOP | GENERATOR);
	add_call(2, info);
	add_call(INTERNAL, 0);
	add_call(3, TOP);
}

static void test_generators_that_delegate_are_callers(void **state)
{
	make_delegating(TOP | GENERATOR);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 5);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(stack.places[i], script_place(i + 1, LINE + i + 1));
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 3);
	assert_true(stack.segments[0].is_generator);
	assert_int_equal(stack.segments[0].anchor, call_of(0));
	make_delegating(TOP); /* no generator delegates */
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_call(1, TOP); /* to no generator */
	add_call(0, 0);
	add_call(3, TOP | GENERATOR);
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_call(1, TOP | GENERATOR);
	add_call(0, 0); /* none does */
	check_refused(SCRIPT_TORN);
}

static void test_activations_hold_a_call_or_their_caller_does(void **state)
{
	test_c_put(1, 4, call_of(0));
	test_c_put(4, 2, call_of(3)); /* what has called the outer activation */
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 4);
	assert_int_equal(test_c.frames[1].address, script_start(SCRIPT_PHP) + stack.places[0]);
	assert_int_equal(test_c.frames[2].address, TEST_LOOP + 17);
	assert_int_equal(test_c.frames[4].address, script_start(SCRIPT_PHP) + stack.places[1]);
	assert_int_equal(test_c.frames[7].address, TEST_LOOP + 19);
}

static void test_nothing_holds_the_call(void **state)
{
	test_c_put(1, 4, call_of(0));
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES);
}

/* A generator is in the list before it runs, with what has resumed it earlier. */
static void test_a_generator_runs_in_what_resumes_it(void **state)
{
	test_walk_begin(WINDOW);
	add_call(1, TOP | GENERATOR);
	add_call(2, TOP);
	test_c_put(1, 4, call_of(0));
	test_c_put(3, 4, call_of(1));
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	test_c.frames[2].address = RESUME + 8;
	assert_int_equal(merge(), SCRIPT_WHOLE);
}

static void test_nothing_else_runs_in_it(void **state)
{
	test_c_put(1, 4, call_of(0));
	test_c_put(3, 4, call_of(2));
	test_c.frames[2].address = RESUME + 8;
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_segment_ends_with_what_c_has_called),
		TEST(test_compiled_functions_outside_of_scripts_are_left_out),
		TEST(test_a_fiber_ends_what_its_stack_executes),
		TEST(test_lists_between_two_states),
		TEST(test_functions_that_the_stream_does_not_have),
		TEST(test_generators_that_delegate_are_callers),
		TEST(test_activations_hold_a_call_or_their_caller_does),
		TEST(test_nothing_holds_the_call),
		TEST(test_a_generator_runs_in_what_resumes_it),
		TEST(test_nothing_else_runs_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
