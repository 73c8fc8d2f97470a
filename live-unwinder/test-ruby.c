/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of Ruby become frames inside of the activations that execute them, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/ruby-walk.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	FRAME = 56,
	WINDOW = 64,
	/* What frames are. */
	METHOD = 0x11110003,
	BLOCK = 0x22220001,
	C_FUNCTION = 0x55550083,
	C_BLOCK = 0x66660081,
	DUMMY = 0x79990003,
	FINISH = 0x20,
	ESCAPED = 4,
	OF_C = 0x80,
	/* Code. */
	BODY = 0x100000,
	STEP = 0x1000,
	N_BODIES = 3,
	N_WORDS = 100,
	CODE_AT = 8,
	COUNT_AT = 4,
	LOOPS = 1 << 1 | 1 << 3, /* frames of C that are of the loop */
	LAST = TEST_STACK + (TEST_FRAMES - 1) * TEST_FRAME,
	BEYOND = TEST_STACK + sizeof(test_c.words) + 0x40,
	FRAMES = 0x900000,
};

static const struct ruby_fields fields = {
	.frame_pc = 0,
	.frame_sp = 8,
	.frame_iseq = 16,
	.frame_flags = FRAME,
	.body_code = CODE_AT,
	.body_count = COUNT_AT,
};

static struct code_table codes;
static struct script_stack stack;

static uint64_t address_of(int i)
{
	return FRAMES + i * FRAME;
}

static uint64_t code_of(int body)
{
	return 0x555500000000 + body * STEP;
}

/* Adds a frame of a body, of which so many words are executed; 0: of none. */
static void add_frame(int body, uint64_t flags, uint64_t n_words, uint64_t sp)
{
	const uint64_t window[WINDOW / 8] = {
		body ? code_of(body) + n_words * 8 : 0,
		sp,
		body ? BODY + body * STEP : 0,
		[FRAME / 8] = flags,
	};

	test_walk_add(address_of(test_walk.n), body ? IDENTITY : 0, window);
}

static enum script_outcome read_until(uint16_t end)
{
	return ruby_walk_read(&fields, &codes, test_walk_end(end), &stack);
}

static enum script_outcome read_walk(void)
{
	return read_until(WIRE_walk_end_END);
}

/* A method that a block has called, which C runs for a method; that is called by the script. */
static void make_walk(void)
{
	test_walk_begin(WINDOW);
	add_frame(1, METHOD, 5, 0);
	add_frame(2, BLOCK | FINISH, 9, 0);
	add_frame(0, C_BLOCK, 0, 0);
	add_frame(0, C_FUNCTION, 0, 0);
	add_frame(3, METHOD, 2, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
}

static int set_up(void **state)
{
	code_table_init(&codes);
	for (uint64_t i = 1; i <= N_BODIES; i++) {
		const uint64_t body[] = { (uint64_t)N_WORDS << 32, code_of(i) };
		const struct wire_memory record = {
			.process = PROCESS,
			.address = BODY + i * STEP,
			.identity = IDENTITY,
			.number = i,
			.bytes = { (const char *)body, sizeof(body) },
		};

		assert_int_equal(code_table_add(&codes, &record, ruby_code_begin(&fields, &record)),
				 0);
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

static enum script_outcome merge(void)
{
	stack.language = SCRIPT_RUBY;
	return script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding);
}

static void test_segments_end_with_what_c_has_called(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 4);
	assert_int_equal(stack.places[0], script_place(1, 5));
	assert_int_equal(stack.places[1], script_place(2, 9));
	assert_int_equal(stack.places[3], script_place(2, 7));
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 2);
	assert_int_equal(stack.segments[0].anchor, address_of(0));
	assert_int_equal(stack.segments[1].n, 2);
	assert_int_equal(stack.segments[1].anchor, address_of(4)); /* behind the frames of C */
}

static void test_the_main_thread_has_another_outermost_frame(void **state)
{
	test_walk_begin(WINDOW);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, DUMMY | FINISH | ESCAPED, 0, 0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	test_walk_begin(WINDOW);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, DUMMY | FINISH, 0, 0); /* that of a library that is being loaded */
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_NO_FRAMES);
}

static void test_frames_that_cannot_be(void **state)
{
	static const uint64_t flags[] = { METHOD - 1, METHOD | OF_C, 0x12340021,
					  METHOD | 1ULL << 32, 0 };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		test_walk_begin(WINDOW);
		add_frame(1, flags[i], 5, 0);
		add_frame(2, METHOD | FINISH, 5, 0);
		add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
		check_refused(SCRIPT_TORN);
	}
	test_walk_begin(WINDOW);
	add_frame(1, METHOD, 5, 0); /* that no activation ends */
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_frame(N_BODIES + 1, METHOD | FINISH, 5, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_UNKNOWN);
	make_walk();
	assert_int_equal(read_until(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 0);
}

static void test_activations_hold_their_frames(void **state)
{
	test_c_put(1, 4, address_of(0));
	test_c_put(3, 4, address_of(4));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 4);
	assert_int_equal(test_c.frames[1].address, script_start(SCRIPT_RUBY) + stack.places[0]);
	assert_int_equal(test_c.frames[3].address, TEST_LOOP + 17);
	assert_int_equal(test_c.frames[5].address, script_start(SCRIPT_RUBY) + stack.places[2]);
	assert_int_equal(test_c.frames[7].address, TEST_LOOP + 19);
}

/* As a frame begins, the loop holds its caller's, and as one has ended, that one. */
static void test_the_innermost_activation_may_hold_a_neighbour(void **state)
{
	test_c_put(3, 4, address_of(4));
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	test_c_put(1, 4, address_of(1));
	assert_int_equal(merge(), SCRIPT_WHOLE);
	test_c_begin(PROCESS, LOOPS);
	test_c_put(3, 4, address_of(4));
	test_c_put(1, 4, address_of(-1));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	test_c_begin(PROCESS, LOOPS);
	test_c_put(1, 4, address_of(0));
	test_c_put(3, 4, address_of(5)); /* outer ones do not */
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
}

/* What C calls has FINISH some instructions after its frame is there: C is not called by it. */
static void test_frames_of_c_within_a_segment(void **state)
{
	test_walk_begin(WINDOW);
	add_frame(1, METHOD, 0, 0);
	add_frame(0, C_FUNCTION, 0, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_TORN);
}

/* C prepares a frame, of a segment that is executed. */
static void test_what_is_prepared_has_no_frame_yet(void **state)
{
	test_walk_begin(WINDOW);
	add_frame(3, METHOD, 0, 0);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	test_c_put(1, 4, address_of(1));
	test_c_put(3, 4, address_of(2));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 2);
	/* In the loop it is what is executed next. */
	test_c_begin(PROCESS, 1 << 0 | 1 << 3);
	test_c_put(0, 4, address_of(0));
	test_c_put(3, 4, address_of(2));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 3);
}

/* Reads a walk in which C has made a frame of a block, of which so many words are executed. */
static void read_block_of_c(uint64_t n_words)
{
	test_walk_begin(WINDOW);
	add_frame(3, BLOCK | FINISH, n_words, 0);
	add_frame(0, C_FUNCTION, 0, 0);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	test_c_put(1, 4, address_of(2));
	test_c_put(3, 4, address_of(3));
	read_walk();
}

/* C has made a frame, but does not execute it yet. */
static void test_what_is_not_begun_has_no_activation(void **state)
{
	read_block_of_c(0);
	assert_int_equal(stack.n_segments, 3);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 2);
	assert_int_equal(test_c.frames[1].address, script_start(SCRIPT_RUBY) + script_place(1, 5));
}

/* An exception leaves what is: its frames are still there, and would be missing. */
static void test_what_is_begun_has_one(void **state)
{
	read_block_of_c(4);
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES);
}

static void make_frame(uint32_t frame)
{
	test_c.unwinding.made[test_c.unwinding.n_made++] = frame;
}

/* Made code holds the innermost frame of a segment, and nobody knows how far it is in that. */
static void test_made_code_is_an_activation(void **state)
{
	test_c_begin(PROCESS, 1 << 4);
	make_frame(1);
	test_c_put(1, 4, address_of(0));
	test_c_put(4, 4, address_of(4));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.frames[1].address,
			 script_start(SCRIPT_RUBY) + script_place(1, SCRIPT_INSTRUCTION_UNKNOWN));
	assert_int_equal(test_c.frames[2].address, script_start(SCRIPT_RUBY) + script_place(2, 9));
	assert_int_equal(test_c.frames[6].address, script_start(SCRIPT_RUBY) + script_place(3, 2));
}

/* The loop calls made code for a part of its segment, itself or by another function. */
static void test_made_code_and_the_loop_execute_one_segment(void **state)
{
	for (unsigned int between = 1; between <= 2; between++) {
		test_walk_begin(WINDOW);
		add_frame(1, METHOD, 5, 0);
		add_frame(2, METHOD | FINISH, 7, 0);
		add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
		test_c_begin(PROCESS, 1 << (1 + between));
		make_frame(1);
		test_c_put(1, 4, address_of(0));
		read_walk();
		assert_int_equal(merge(), SCRIPT_WHOLE);
		assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 2);
		assert_int_equal(test_c.frames[3].address, TEST_OTHER + 17);
	}
	test_c_begin(PROCESS, 1 << 4); /* farther away it is another activation */
	make_frame(1);
	test_c_put(1, 4, address_of(0));
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
}

/* It does not say whether it has begun: so its frame is not one that C only prepares. */
static void test_made_code_has_begun(void **state)
{
	test_walk_begin(WINDOW);
	add_frame(1, METHOD, 0, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	test_c_begin(PROCESS, 0);
	make_frame(1);
	test_c_put(1, 4, address_of(0));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 2);
}

/* Threads and fibers whose C stack holds the array of frames: nothing of it is outside of that. */
static void test_stacks_that_end_at_their_frames(void **state)
{
	static const struct {
		uint64_t sp;
		enum wire_stack_end end;
		enum script_outcome outcome;
	} cases[] = {
		{ 0x900000, WIRE_stack_end_BAD_UNWIND_INFO, SCRIPT_CUT },
		{ LAST + 0x80, WIRE_stack_end_BAD_UNWIND_INFO, SCRIPT_WHOLE },
		{ LAST + 0x1c0, WIRE_stack_end_BAD_UNWIND_INFO, SCRIPT_CUT },
		{ LAST + 0x1c0, WIRE_stack_end_STACK_ABSENT, SCRIPT_WHOLE },
		{ LAST, WIRE_stack_end_BAD_UNWIND_INFO, SCRIPT_CUT },
		{ BEYOND, WIRE_stack_end_TRUNCATED, SCRIPT_CUT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		test_c_begin(PROCESS, LOOPS);
		test_c.unwinding.end = cases[i].end;
		test_c_put(1, 4, address_of(0));
		test_c_put(3, 4, address_of(1));
		test_walk_begin(WINDOW);
		add_frame(1, METHOD | FINISH, 5, 0);
		add_frame(2, METHOD | FINISH, 7, 0);
		add_frame(0, DUMMY | FINISH | OF_C, 0, cases[i].sp);
		assert_int_equal(read_walk(), SCRIPT_WHOLE);
		assert_int_equal(merge(), cases[i].outcome);
	}
	test_walk_begin(WINDOW);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, cases[1].sp);
	read_walk();
	test_c.unwinding.end = WIRE_stack_end_UNPROVED;
	test_c.unwinding.is_unproved = true; /* a frame pointer led there */
	assert_int_equal(merge(), SCRIPT_CUT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_segments_end_with_what_c_has_called),
		TEST(test_the_main_thread_has_another_outermost_frame),
		TEST(test_frames_that_cannot_be),
		TEST(test_activations_hold_their_frames),
		TEST(test_the_innermost_activation_may_hold_a_neighbour),
		TEST(test_frames_of_c_within_a_segment),
		TEST(test_what_is_prepared_has_no_frame_yet),
		TEST(test_what_is_not_begun_has_no_activation),
		TEST(test_what_is_begun_has_one),
		TEST(test_made_code_is_an_activation),
		TEST(test_made_code_and_the_loop_execute_one_segment),
		TEST(test_made_code_has_begun),
		TEST(test_stacks_that_end_at_their_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
