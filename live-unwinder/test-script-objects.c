/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frame objects of CPython 3.8 to 3.10 belong to the activations that hold their addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/script-place.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/script/cpython-objects.h"
#include "live-unwinder/script/cpython-trait.h"

enum {
	PROCESS = 7,
	MAPPING = 5,
	TYPE = 0x1000,
	CODE = 0x100000, /* of code object 1; the others follow in these steps: */
	CODE_STEP = 0x1000,
	IDENTITY = 99,
	WINDOW = 120,
	EXECUTING = 1,
	LOOP = 0x500000,
	LOOP_SIZE = 0x8000,
	OTHER = 0x400000, /* code of other functions of C */
	OBJECT = 0x900000,
	OBJECT_STEP = 0x200,
	STACK = 0x7000,
	FRAME_SIZE = 0x100,
	N_C = 7,
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

static const struct script_loop loop = { LOOP, LOOP + LOOP_SIZE, -1, -1 };

static struct {
	char bytes[8192];
	size_t size;
} made;

static struct code_table codes;
static struct script_stack stack;
static struct wire_frame frames[N_C + SCRIPT_FRAMES_MAX];
static uint64_t pointers[N_C], words[N_C * FRAME_SIZE / 8], registers[ARCH_REGISTERS_MAX];
static struct wire_sample sample;
static struct unwinding unwinding;

static uint64_t object(int i)
{
	return OBJECT + i * OBJECT_STEP;
}

static void put(const void *bytes, size_t size)
{
	memcpy(made.bytes + made.size, bytes, size);
	made.size += size;
}

/* A walk of frames whose codes are 1, 2, … from the innermost on. */
static void make_walk(uint16_t n, uint16_t end)
{
	const uint16_t head[] = { 0, WINDOW, n, end };

	made.size = 0;
	put(head, sizeof(head));
	for (int i = 0; i < n; i++) {
		const uint64_t element[] = { object(i), IDENTITY };
		char window[WINDOW] = { 0 };
		const uint64_t code = CODE + (i + 1) * CODE_STEP;
		const int32_t index = 2 * i;

		memcpy(window + fields.frame_code, &code, sizeof(code));
		memcpy(window + fields.frame_index, &index, sizeof(index));
		window[fields.frame_state] = EXECUTING;
		put(element, sizeof(element));
		put(window, sizeof(window));
	}
}

/* The window of the i-th frame in the walk. */
static char *window_of(int i)
{
	return made.bytes + 8 + i * (16 + WINDOW) + 16;
}

static enum script_outcome read_walk(void)
{
	sample.walk = (struct wire_blob){ made.bytes, made.size };
	return cpython_objects_read(&fields, &codes, &sample, &stack);
}

static void put_word(size_t frame, size_t word, uint64_t value)
{
	words[(frame * FRAME_SIZE) / 8 + word] = value;
}

/* Frames of C, of which 1, 3 and 5 are of the loop, and hold three objects. */
static void make_c(void)
{
	memset(words, 0, sizeof(words));
	memset(registers, 0, sizeof(registers));
	for (size_t i = 0; i < N_C; i++) {
		frames[i] = (struct wire_frame){ .address = (i % 2 ? LOOP : OTHER) + 16 + i };
		pointers[i] = STACK + i * FRAME_SIZE;
	}
	registers[arch_x86_64.sample_index[arch_x86_64.sp]] = STACK;
	put_word(1, 4, object(0));
	put_word(2, 30, object(1)); /* saved by what the loop has called */
	put_word(5, 4, object(2));
	sample = (struct wire_sample){
		.process = PROCESS,
		.stack = { (const char *)words, sizeof(words) },
		.registers = { registers, arch_x86_64.n_registers },
	};
	unwinding = (struct unwinding){
		.arch = &arch_x86_64,
		.sample = &sample,
		.frames = frames,
		.stack_pointers = pointers,
		.n_frames = N_C,
		.end = WIRE_stack_end_COMPLETE,
	};
}

static enum script_outcome merge(void)
{
	return script_merge(&stack, &loop, MAPPING, &unwinding);
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
	assert_int_equal(unwinding.n_frames, n);
	for (size_t i = 0; i < n; i++) {
		bool is_script = frames[i].flags & WIRE_frame_flags_SCRIPT;

		assert_int_equal(is_script ? script_place_number(frames[i].address - SCRIPT_START)
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
	check_frames(expected, N_C + 3);
}

static void test_one_that_has_not_begun(void **state)
{
	const int32_t none = -1;

	memcpy(window_of(0) + fields.frame_index, &none, sizeof(none));
	window_of(0)[fields.frame_state] = 0; /* not yet */
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

	window_of(1)[fields.frame_state] = 0;
	assert_none(SCRIPT_TORN); /* only the innermost may be about to end */
	make_walk(3, WIRE_walk_end_END);
	memcpy(window_of(1) + fields.frame_index, &odd, sizeof(odd));
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
	assert_int_equal(unwinding.n_frames, N_C);
}

static void test_an_activation_that_does_not_hold_it(void **state)
{
	put_word(2, 30, object(3)); /* that of another interpreter does */
	assert_unplaced(SCRIPT_UNPLACED);
	put_word(4, 4, object(1)); /* further out than the activation */
	assert_unplaced(SCRIPT_UNPLACED);
}

static void test_frames_of_c_that_end_early(void **state)
{
	unwinding.end = WIRE_stack_end_TRUNCATED;
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
	frames[0].address = LOOP + 4;
	put_word(0, 31, object(0)); /* its caller's register, saved */
}

static void test_a_function_that_is_entered(void **state)
{
	static const uint64_t expected[] = { 0, 1, 0, 0, 2, 0, 0, 3, 0, 0 };

	enter();
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	check_frames(expected, N_C + 3);
}

/* Then the object may be its own, and who knows whose the others are. */
static void test_an_entered_function_that_holds_the_innermost(void **state)
{
	enter();
	put_word(0, 2, object(0));
	assert_unplaced(SCRIPT_UNPLACED);
	make_c();
	enter();
	registers[arch_x86_64.sample_index[arch_x86_64.fp]] = object(0);
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
