/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contexts of Perl become frames inside of the activations that execute them, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/perl-walk.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	PERL = 0x800000, /* the interpreter */
	STACKS = 0x900000,
	CONTEXTS = 0xa00000,
	STEP = 0x1000,
	CONTEXT_SIZE = 104,
	WINDOW = 88,
	SUB_SIZE = 24,
	BODY_SIZE = 104,
	COP_SIZE = 56,
	COP_LINE = 36,
	/* Contexts, and stacks. */
	LOOP = 4,
	SUB = 9,
	FORMAT = 10,
	EVAL = 11,
	MANY = 0x10, /* of a sub: it is executed again and again */
	TRY = 0x40,  /* of an eval: it is a block */
	MAIN = 1,
	SORT = 3,
	RETURN = 0x123456,
	/* Code: subs, and positions, each at the line of its number. */
	N_SUBS = 3,
	N_POSITIONS = 9,
	SUBS = 0x100000,
	POSITIONS = 0x200000,
	INTERPRETER_COP = 208,
	LOOPS = 1 << 1 | 1 << 3, /* frames of C that are of the loop */
};

static struct perl_fields fields = {
	.stack_array = 8,
	.stack_previous = 16,
	.stack_last = 32,
	.stack_type = 44,
	.context_size = CONTEXT_SIZE,
	.context_cop = 16,
	.context_return = 48,
	.context_sub = 72,
	.context_position = 80,
	.interpreter_cop = INTERPRETER_COP,
	.sub_size = SUB_SIZE,
	.sub_body = BODY_SIZE,
	.cop_size = COP_SIZE,
	.cop_line = COP_LINE,
	.main_from = TEST_OTHER + 16 + 4,
	.main_to = TEST_OTHER + 16 + 5,
};

static struct code_table codes;
static struct script_stack stack;
static struct {
	int n_stacks, n_contexts, current;
} made;

static void begin(int position)
{
	test_walk_begin(WINDOW);
	memset(&made, 0, sizeof(made));
	made.current = position;
}

/* The head of a stack with so many contexts, which follow. */
static void add_stack(int type, int n, bool is_last)
{
	const uint64_t number = made.n_stacks++;
	const uint64_t window[WINDOW / 8] = {
		[1] = CONTEXTS + number * STEP,
		[2] = is_last ? 0 : STACKS + (number + 1) * STEP,
		[4] = (uint32_t)(n - 1),
		[5] = (uint64_t)type << 32,
	};

	made.n_contexts = n;
	test_walk_add(STACKS + number * STEP, 0, window);
}

/* The next inner one first. It was called at a position. */
static void add_context(int type, int sub, int position, uint64_t return_to)
{
	const uint64_t window[WINDOW / 8] = {
		[0] = type,	 [2] = POSITIONS + position * STEP,
		[6] = return_to, [9] = sub ? SUBS + sub * STEP : 0,
		[10] = IDENTITY,
	};
	uint64_t at = CONTEXTS + (made.n_stacks - 1) * STEP + --made.n_contexts * CONTEXT_SIZE;

	test_walk_add(at, sub ? IDENTITY : 0, window);
}

static enum script_outcome read_until(uint16_t end)
{
	static char bytes[sizeof(test_walk.bytes) + 64];
	const uint16_t head[] = { 1, 32, 1, WIRE_walk_end_END };
	const uint64_t current[] = { PERL + INTERPRETER_COP - 16,     IDENTITY, 0, 0,
				     POSITIONS + made.current * STEP, 0 };
	struct wire_sample *sample = &test_c.sample;
	size_t size;

	test_walk_end(end);
	size = sample->walk.size;
	memcpy(bytes, sample->walk.data, size);
	memcpy(bytes + size, head, sizeof(head));
	memcpy(bytes + size + sizeof(head), current, sizeof(current));
	sample->walk = (struct wire_blob){ bytes, size + sizeof(head) + sizeof(current) };
	return perl_walk_read(&fields, &codes, sample, &stack);
}

static enum script_outcome read_walk(void)
{
	return read_until(WIRE_walk_end_END);
}

static enum script_outcome merge(void)
{
	stack.language = SCRIPT_PERL;
	return script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding);
}

static void add_record(uint64_t address, uint64_t number, const void *bytes, size_t size)
{
	const struct wire_memory record = { .process = PROCESS,
					    .address = address,
					    .identity = IDENTITY,
					    .number = number,
					    .bytes = { bytes, size } };

	assert_int_equal(code_table_add(&codes, &record, perl_object_of(&fields, &record)), 0);
}

/* A sub at line 4 that C has called, for one at line 3, which the main program calls at line 1. */
static void make_walk(void)
{
	begin(4);
	add_stack(SORT, 1, false);
	add_context(SUB, 1, 3, 0);
	add_stack(MAIN, 4, true);
	add_context(EVAL | TRY, 0, 3, RETURN);
	add_context(LOOP, 0, 2, 0);
	add_context(SUB, 2, 1, RETURN);
	add_context(LOOP, 0, 1, 0);
}

static int set_up(void **state)
{
	code_table_init(&codes);
	for (uint64_t i = 1; i <= N_SUBS; i++) {
		uint64_t sub[(SUB_SIZE + 8 + BODY_SIZE) / 8] = { [SUB_SIZE / 8] = BODY_SIZE };

		add_record(SUBS + i * STEP, i, sub, sizeof(sub));
	}
	for (uint64_t i = 1; i <= N_POSITIONS; i++) {
		uint64_t position[COP_SIZE / 8 + 2] = { [COP_LINE / 8] = i << 32,
							[COP_SIZE / 8] = 8 };

		add_record(POSITIONS + i * STEP, N_SUBS + i, position, sizeof(position));
	}
	fields.interpreter_cop = INTERPRETER_COP;
	test_c_begin(PROCESS, LOOPS);
	test_c_put(1, 4, PERL);
	test_c_put(3, 4, PERL);
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

static void test_each_frame_is_where_the_next_inner_one_was_called(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(stack.places[0], script_place(1, 4));
	assert_int_equal(stack.places[1], script_place(2, 3));
	assert_int_equal(stack.places[2], script_place(N_SUBS + 1, 1)); /* the main program */
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 1);
	assert_int_equal(stack.segments[0].anchor, PERL);
	assert_int_equal(stack.segments[1].n, 2);
}

/* Without threads no activation has anything that tells it from others. */
static void test_builds_without_threads_have_no_interpreter(void **state)
{
	test_c_put(1, 4, 0);
	test_c_put(3, 4, 0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	fields.interpreter_cop = -1;
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.segments[0].anchor, 0);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 3);
}

static void test_evals_of_texts_are_frames(void **state)
{
	begin(4);
	add_stack(MAIN, 2, true);
	add_context(SUB, 1, 3, RETURN);
	add_context(EVAL, 0, 1, RETURN);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(stack.places[1], script_place(N_SUBS + 3, 3));
	assert_int_equal(stack.places[2], script_place(N_SUBS + 1, 1));
	assert_int_equal(stack.n_segments, 1);
}

/* Up to its first statement, a sub's line is not known; and C may only be about to call it. */
static void test_subs_begin_and_end(void **state)
{
	begin(3);
	add_stack(MAIN, 2, true);
	add_context(SUB, 1, 3, 0);
	add_context(SUB, 2, 1, RETURN);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(1, 0));
	assert_true(stack.segments[0].may_be_idle);
	begin(3);
	add_stack(MAIN, 2, true);
	add_context(SUB, 0, 3, RETURN);
	add_context(SUB, 2, 1, RETURN);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 2);
	begin(3);
	add_stack(MAIN, 2, true);
	add_context(SUB, 1, 3, RETURN);
	add_context(SUB, 0, 1, RETURN);
	check_refused(SCRIPT_TORN);
}

static void test_contexts_that_cannot_be(void **state)
{
	begin(4);
	add_stack(MAIN, 1, true);
	add_context(FORMAT, 1, 3, RETURN);
	check_refused(SCRIPT_UNKNOWN);
	begin(4);
	add_stack(MAIN, 1, true);
	add_context(SUB, N_SUBS + 1, 3, RETURN);
	check_refused(SCRIPT_UNKNOWN);
	begin(4);
	add_stack(MAIN, 3, true); /* one is missing */
	add_context(SUB, 1, 3, RETURN);
	add_context(SUB, 1, 3, RETURN);
	check_refused(SCRIPT_TORN);
	begin(4);
	add_stack(MAIN, 1, false); /* so is the outermost stack */
	add_context(SUB, 1, 3, RETURN);
	check_refused(SCRIPT_TORN);
	begin(N_POSITIONS + 1); /* where nothing is known of the main program */
	add_stack(MAIN, 0, true);
	check_refused(SCRIPT_UNKNOWN);
	make_walk();
	assert_int_equal(read_until(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 0);
}

static void test_each_activation_executes_a_segment(void **state)
{
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 3);
	assert_int_equal(test_c.frames[1].address, script_start(SCRIPT_PERL) + stack.places[0]);
	assert_int_equal(test_c.frames[2].address, TEST_LOOP + 17);
	assert_int_equal(test_c.frames[4].address, script_start(SCRIPT_PERL) + stack.places[1]);
}

static void check_unplaced(void)
{
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES);
}

static void test_activations_of_another_interpreter(void **state)
{
	test_c_put(1, 4, PERL + STEP);
	check_unplaced();
}

static void test_activations_that_are_too_many_or_too_few(void **state)
{
	test_c.frames[5].address = TEST_LOOP + 16;
	test_c_put(5, 4, PERL);
	check_unplaced();
	test_c_begin(PROCESS, 1 << 3);
	test_c_put(3, 4, PERL);
	check_unplaced();
}

/* Only the innermost activation may have nothing to execute, yet or any more. */
static void test_an_activation_begins_and_ends(void **state)
{
	begin(4);
	add_stack(MAIN, 1, true);
	add_context(SUB, 2, 1, RETURN);
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.frames[3].address, script_start(SCRIPT_PERL) + stack.places[0]);
	test_c_begin(PROCESS, 1 << 1 | 1 << 2 | 1 << 3);
	test_c_put(1, 4, PERL);
	test_c_put(2, 4, PERL);
	test_c_put(3, 4, PERL);
	check_unplaced();
}

/* An activation that executes more of a segment stands for the one that has called it. */
static void test_errors_are_caught_in_an_activation_of_its_own(void **state)
{
	begin(4);
	add_stack(MAIN, 1, true);
	add_context(SUB, 2, 1, RETURN);
	read_walk();
	stack.more_from = TEST_OTHER + 16 + 2;
	stack.more_to = stack.more_from + 1;
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.frames[1].address, script_start(SCRIPT_PERL) + stack.places[0]);
	assert_int_equal(test_c.frames[3].address, TEST_LOOP + 17);
}

/* Without the main program, which is still compiled, or never was. */
static void test_only_a_main_program_is_executed_as_such(void **state)
{
	test_c_begin(PROCESS, 1 << 1);
	test_c_put(1, 4, PERL);
	read_walk();
	stack.main_to = stack.main_from;
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 1);
}

/* What the last operation of such a block calls has nothing to return to. */
static void test_blocks_that_c_executes_again_and_again(void **state)
{
	begin(4);
	add_stack(SORT, 2, false);
	add_context(SUB, 3, 4, 0);
	add_context(SUB | MANY, 1, 3, 0);
	add_stack(MAIN, 1, true);
	add_context(SUB, 2, 1, RETURN);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n_segments, 3);
	assert_true(stack.segments[0].may_be_part);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(stack.segments[0].n, 2);
	begin(4);
	add_stack(SORT, 1, false);
	add_context(SUB | MANY, 1, 3, 0);
	add_stack(MAIN, 1, true);
	add_context(SUB, 2, 1, RETURN);
	test_c_begin(PROCESS, 1 << 3); /* between two times */
	test_c_put(3, 4, PERL);
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 2);
	assert_int_equal(stack.n_segments, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_each_frame_is_where_the_next_inner_one_was_called, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_builds_without_threads_have_no_interpreter,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_evals_of_texts_are_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_subs_begin_and_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_contexts_that_cannot_be, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_activation_executes_a_segment, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_activations_of_another_interpreter, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_activations_that_are_too_many_or_too_few,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_activation_begins_and_ends, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_errors_are_caught_in_an_activation_of_its_own,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_only_a_main_program_is_executed_as_such,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_blocks_that_c_executes_again_and_again, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
