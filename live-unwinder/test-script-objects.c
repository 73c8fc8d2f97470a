/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frame objects of CPython 3.8 to 3.10 belong to the activations that hold their addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/cpython-objects.h"
#include "live-unwinder/script/cpython-trait.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	TYPE = 0x1000,
	CODE = 0x100000, /* of code object 1; the others follow in these steps: */
	CODE_STEP = 0x1000,
	IDENTITY = 99,
	WINDOW = 120,
	EXECUTING = 1,
	LOOPS = 1 << 1 | 1 << 3 | 1 << 5, /* frames of C that are of the loop */
	OBJECT = 0x900000,
	OBJECT_STEP = 0x200,
};

static const struct cpython_fields fields = {
	.object = 16,
	.text_kind = 2,
	.frame_copy = -1,
	.frame_code = 32,
	.frame_previous = 24,
	.frame_index = 104,
	.frame_unit = 1,
	.frame_state = 116,
	.frame_executing = EXECUTING,
	.code_type = TYPE,
};

static struct code_table codes;
static struct script_stack stack;
static uint16_t walk_end;

static uint64_t object(int i)
{
	return OBJECT + i * OBJECT_STEP;
}

/* A walk of frames whose codes are 1, 2, … from the innermost on. */
static void make_walk(uint16_t n, uint16_t end)
{
	test_walk_begin(WINDOW);
	walk_end = end;
	for (int i = 0; i < n; i++) {
		char window[WINDOW] = { 0 };
		const uint64_t code = CODE + (i + 1) * CODE_STEP;
		const int32_t index = 2 * i;

		memcpy(window + fields.frame_code, &code, sizeof(code));
		memcpy(window + fields.frame_index, &index, sizeof(index));
		window[fields.frame_state] = EXECUTING;
		test_walk_add(object(i), IDENTITY, window);
	}
}

static enum script_outcome read_walk(void)
{
	return cpython_objects_read(&fields, &codes, test_walk_end(walk_end), &stack);
}

/* Three activations hold an object each. */
static void make_c(void)
{
	test_c_begin(PROCESS, LOOPS);
	test_c_put(1, 4, object(0));
	test_c_put(2, 30, object(1)); /* saved by what the loop has called */
	test_c_put(5, 4, object(2));
}

static enum script_outcome merge(void)
{
	return script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding);
}

static int set_up(void **state)
{
	const uint64_t code[] = { 1, TYPE };

	code_table_init(&codes);
	for (uint64_t i = 1; i <= 4; i++) {
		const struct wire_memory record = {
			.process = PROCESS,
			.address = CODE + i * CODE_STEP,
			.identity = IDENTITY,
			.number = i,
			.bytes = { (const char *)code, sizeof(code) },
		};

		assert_int_equal(
			code_table_add(&codes, &record, cpython_code_words(&fields, &record)), 0);
	}
	make_c();
	make_walk(3, WIRE_walk_end_END);
	return 0;
}

static int tear_down(void **state)
{
	code_table_deinit(&codes);
	return 0;
}

/* Which frames there are: numbers of codes, and 0 for those of C. */
static void check_frames(const uint64_t *expected, size_t n)
{
	assert_int_equal(test_c.unwinding.n_frames, n);
	for (size_t i = 0; i < n; i++) {
		bool is_script = test_c.frames[i].flags & WIRE_frame_flags_SCRIPT;

		assert_int_equal(
			is_script ? script_place_number(test_c.frames[i].address - SCRIPT_START)
				  : 0,
			expected[i]);
	}
}

static void test_each_is_inside_of_its_activation(void **state)
{
	static const uint64_t expected[] = { 0, 1, 0, 0, 2, 0, 0, 3, 0, 0 };

	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(script_place_instruction(stack.places[2]), 3);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	check_frames(expected, TEST_FRAMES + 3);
}

static void test_one_that_has_not_begun(void **state)
{
	const int32_t none = -1;

	memcpy(test_walk_window(0) + fields.frame_index, &none, sizeof(none));
	test_walk_window(0)[fields.frame_state] = 0; /* not yet */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(script_place_instruction(stack.places[0]), 0);
}

static void assert_none(enum script_outcome outcome)
{
	assert_int_equal(read_walk(), outcome);
	assert_int_equal(stack.n, 0);
	assert_int_equal(stack.n_segments, 0);
}

static void test_others_are_not_of_this_moment(void **state)
{
	const int32_t odd = 3;

	test_walk_window(1)[fields.frame_state] = 0;
	assert_none(SCRIPT_TORN); /* only the innermost may be about to end */
	make_walk(3, WIRE_walk_end_END);
	memcpy(test_walk_window(1) + fields.frame_index, &odd, sizeof(odd));
	assert_none(SCRIPT_TORN);
	make_walk(3, WIRE_walk_end_LIMIT);
	assert_none(SCRIPT_LIMIT); /* nobody knows whose the outermost activation is */
	make_walk(3, WIRE_walk_end_ABSENT);
	assert_none(SCRIPT_ABSENT);
	make_walk(5, WIRE_walk_end_END); /* the stream has no fifth code */
	assert_none(SCRIPT_UNKNOWN);
}

static void assert_unplaced(enum script_outcome outcome)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), outcome);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES);
}

static void test_an_activation_that_does_not_hold_it(void **state)
{
	test_c_put(2, 30, object(3)); /* that of another interpreter does */
	assert_unplaced(SCRIPT_UNPLACED);
	test_c_put(4, 4, object(1)); /* further out than the activation */
	assert_unplaced(SCRIPT_UNPLACED);
}

static void test_frames_of_c_that_end_early(void **state)
{
	test_c.unwinding.end = WIRE_stack_end_TRUNCATED;
	assert_unplaced(SCRIPT_CUT);
}

static void test_too_many_and_too_few_activations(void **state)
{
	make_walk(4, WIRE_walk_end_END);
	assert_unplaced(SCRIPT_UNPLACED);
	make_walk(1, WIRE_walk_end_END);
	assert_unplaced(SCRIPT_UNPLACED);
	make_walk(2, WIRE_walk_end_END); /* the innermost activation is no innermost frame */
	assert_unplaced(SCRIPT_UNPLACED);
}

/* The frame at 0 is of the loop, and has no object yet. */
static void enter(void)
{
	test_c.frames[0].address = TEST_LOOP + 4;
	test_c_put(0, 31, object(0)); /* its caller's register, saved */
}

static void test_a_function_that_is_entered(void **state)
{
	static const uint64_t expected[] = { 0, 1, 0, 0, 2, 0, 0, 3, 0, 0 };

	enter();
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	check_frames(expected, TEST_FRAMES + 3);
}

/* Then the object may be its own, and who knows whose the others are. */
static void test_an_entered_function_that_holds_the_innermost(void **state)
{
	enter();
	test_c_put(0, 2, object(0));
	assert_unplaced(SCRIPT_UNPLACED);
	make_c();
	enter();
	test_c.registers[arch_x86_64.sample_index[arch_x86_64.fp]] = object(0);
	assert_unplaced(SCRIPT_UNPLACED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_is_inside_of_its_activation, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_one_that_has_not_begun, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others_are_not_of_this_moment, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_activation_that_does_not_hold_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_frames_of_c_that_end_early, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many_and_too_few_activations, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_function_that_is_entered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_entered_function_that_holds_the_innermost,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
