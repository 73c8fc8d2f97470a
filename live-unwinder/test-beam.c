/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of an Erlang process are found by the return addresses on its own stack, or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live-unwinder/script/beam-code.h"
#include "live-unwinder/script/beam-walk.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	N_FUNCTIONS = 4,
	FUNCTIONS = 0x100000,
	STEP = 0x1000,
	HEAD = 40, /* bytes in front of a function's code */
	TOP = 0x58,
	END = 0x7f0000, /* where the outermost function returns to */
	/* The stack of the process: five words of a frame, and return addresses at its end. */
	LOW = 0x900000,
	HIGH = 0x902000,
	SP = HIGH - 8 * 8,
	OTHER = 0x700800, /* where the thread's own stack begins */
};

static const struct beam_fields fields = {
	.process_top = TOP,
	.stack_end = END,
	.function_size = HEAD,
};

static struct {
	struct walk_bounds bounds;
	uint8_t code[5 * WALK_CODE_WINDOW]; /* what is executed has a window in front of it */
	struct {
		struct walk_element element;
		struct walk_return window;
	} returns[16];
	size_t n;
	char bytes[4096];
} made;

static struct code_table codes;
static struct script_stack stack;
static struct script_thread thread;

static uint64_t function(int i)
{
	return FUNCTIONS + i * STEP;
}

/* Puts code where it is executed; what follows is of no use. */
#define CODE(...)                                                                                  \
	({                                                                                         \
		static const uint8_t code_[] = { __VA_ARGS__ };                                    \
		memset(made.code, 0x06, sizeof(made.code));                                        \
		memcpy(made.code + WALK_CODE_WINDOW, code_, sizeof(code_));                        \
	})

#define RETURN_FROM_FRAME(size) 0x48, 0x83, 0xc4, size, 0x41, 0xff, 0xce, 0x7c, 0x7f, 0xc3
#define COME_BACK_BY_TOP 0x49, 0x8b, 0x65, TOP
#define COME_BACK_BY_FP 0x48, 0x89, 0xec
#define GO_TO_C 0x48, 0x8d, 0x63, 0xc0

/* Adds a return address into a function; -1: to the end. */
static void add_return(uint64_t at, int i)
{
	made.returns[made.n].element = (struct walk_element){ at, i < 0 ? 0 : IDENTITY };
	made.returns[made.n++].window = (struct walk_return){
		.pc = i < 0 ? END : function(i) + 0x100,
		.object = i < 0 ? 0 : function(i),
		.line = 10 + i,
	};
}

/* Function 1 is executed, which 2 has called, and that 3. It has a frame of two words. */
static void make(void)
{
	memset(&made, 0, sizeof(made));
	made.bounds = (struct walk_bounds){ .top = LOW + 8,
					    .low = LOW,
					    .high = HIGH,
					    .other = OTHER,
					    .code_from = function(1),
					    .code_to = function(1) + STEP };
	add_return(SP, 1);
	add_return(SP + 16, 2);
	add_return(SP + 32, 3);
	add_return(HIGH - 8, -1);
	CODE(0x90, RETURN_FROM_FRAME(16));
}

static size_t put_list(size_t at, uint16_t number, uint16_t window, uint16_t n, uint16_t end)
{
	const uint16_t head[] = { number, window, n, end };

	memcpy(made.bytes + at, head, sizeof(head));
	return at + sizeof(head);
}

static size_t put(size_t at, const void *bytes, size_t size)
{
	memcpy(made.bytes + at, bytes, size);
	return at + size;
}

static void end_at(uint64_t pc, uint64_t sp, uint64_t fp)
{
	size_t last = TEST_FRAMES - 1;

	test_c.frames[last].address = thread.last.pc = pc;
	test_c.pointers[last] = thread.last.sp = sp;
	thread.last.fp = fp;
}

/* Puts the walk into the sample, and what the C frames end with; then reads it. */
static enum script_outcome read_as(enum wire_walk_end end)
{
	size_t at = put_list(0, 0, sizeof(struct walk_return), made.n, end);
	struct walk_element element = { 0 };

	at = put(at, made.returns, made.n * sizeof(made.returns[0]));
	at = put_list(at, 1, sizeof(made.bounds), 1, WIRE_walk_end_END);
	at = put(at, &(struct walk_element){ 0 }, sizeof(struct walk_element));
	at = put(at, &made.bounds, sizeof(made.bounds));
	at = put_list(at, 2, WALK_CODE_WINDOW, 5, WIRE_walk_end_END);
	for (size_t i = 0; i < 5; i++) {
		element.address = made.returns[0].window.pc + (i - 1) * WALK_CODE_WINDOW;
		at = put(at, &element, sizeof(element));
		at = put(at, made.code + i * WALK_CODE_WINDOW, WALK_CODE_WINDOW);
	}
	test_c.sample.walk = (struct wire_blob){ made.bytes, at };
	thread.sample = &test_c.sample;
	return beam_walk_read(&fields, &codes, &thread, &stack);
}

static enum script_outcome read_walk(void)
{
	return read_as(WIRE_walk_end_END);
}

/* In C, which has been called from where the code goes on. */
static void call_c(uint64_t fp)
{
	thread.sp = OTHER - 0x300;
	made.returns[0].element.address = OTHER;
	end_at(made.returns[0].window.pc, OTHER, fp);
}

static int set_up(void **state)
{
	code_table_init(&codes);
	for (uint64_t i = 1; i <= N_FUNCTIONS; i++) {
		const struct wire_memory record = {
			.process = PROCESS,
			.address = function(i),
			.identity = IDENTITY,
			.number = i,
		};

		assert_int_equal(code_table_add(&codes, &record, 1), 0);
	}
	make();
	test_c_begin(PROCESS, 0);
	thread.sp = SP;
	end_at(made.returns[0].window.pc, SP, 0);
	return 0;
}

static int tear_down(void **state)
{
	code_table_deinit(&codes);
	return 0;
}

static void check_stack(const int *functions, size_t n)
{
	assert_int_equal(stack.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stack.places[i], script_place(functions[i], 10 + functions[i]));
}

#define CHECK(...) check_stack((int[]){ __VA_ARGS__ }, sizeof((int[]){ __VA_ARGS__ }) / sizeof(int))

static void check_refused(enum script_outcome outcome)
{
	assert_int_equal(read_walk(), outcome);
	assert_int_equal(stack.n, 0);
	assert_int_equal(stack.n_segments, 0);
}

static void test_functions_are_those_to_which_it_returns(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

static void test_the_script_ends_the_stack(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	stack.language = SCRIPT_BEAM;
	test_c.unwinding.end = WIRE_stack_end_NO_UNWIND_INFO;
	assert_int_equal(script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding),
			 SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES - 1 + 3);
	assert_int_equal(test_c.unwinding.end, WIRE_stack_end_COMPLETE);
	assert_int_equal(test_c.frames[TEST_FRAMES - 2].address, TEST_OTHER + 16 + TEST_FRAMES - 2);
	assert_int_equal(test_c.frames[TEST_FRAMES - 1].address,
			 script_start(SCRIPT_BEAM) + script_place(1, 11));
}

static void test_c_has_kept_the_stack_pointer(void **state)
{
	CODE(COME_BACK_BY_FP, RETURN_FROM_FRAME(16));
	call_c(SP);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
	call_c(0);
	check_refused(SCRIPT_TORN);
}

static void test_the_process_has_noted_its_top(void **state)
{
	CODE(COME_BACK_BY_TOP, RETURN_FROM_FRAME(16));
	made.bounds.top = SP;
	call_c(0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

/* What it had noted before does not count. */
static void test_code_that_goes_to_c_comes_back(void **state)
{
	CODE(0x55, 0x5d, GO_TO_C, 0x50, 0xe8, 1, 2, 3, 4, COME_BACK_BY_TOP, RETURN_FROM_FRAME(16));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

/* In a frame that is being made lies what was there before. */
static void test_an_older_return_address_is_none(void **state)
{
	add_return(0, 0);
	memmove(&made.returns[2], &made.returns[1], 3 * sizeof(made.returns[0]));
	made.returns[1] = made.returns[0];
	made.returns[1].window.pc = function(4) + 0x100;
	made.returns[1].window.object = function(4);
	made.returns[1].element.address = SP + 8;
	check_refused(SCRIPT_TORN);
}

/* Words of terms may look like addresses in code, but for their tag. */
static void test_terms_are_no_return_addresses(void **state)
{
	add_return(SP + 24, 4);
	made.returns[4].window.pc |= 2;
	memmove(&made.returns[5], &made.returns[2], 2 * sizeof(made.returns[0]));
	made.returns[2] = made.returns[4];
	made.returns[3] = made.returns[5];
	made.returns[4] = made.returns[6];
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

static void test_shared_code_returns_to_any_address(void **state)
{
	made.bounds.code_from = made.bounds.code_to = 0;
	made.returns[0].element.identity = made.returns[0].window.object = 0;
	made.returns[1].window.pc |= 2;
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(2, 3);
}

static void test_ways_that_disagree_tell_nothing(void **state)
{
	CODE(0x74, 10, RETURN_FROM_FRAME(16), RETURN_FROM_FRAME(32));
	check_refused(SCRIPT_TORN);
	CODE(0x74, 10, RETURN_FROM_FRAME(16), RETURN_FROM_FRAME(16));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

/* Code behind what raises an error is that of the next function. */
static void test_ways_end_with_the_function(void **state)
{
	CODE(0x74, 5, 0xe8, 1, 2, 3, 4, RETURN_FROM_FRAME(16));
	made.bounds.code_to = made.returns[0].window.pc + 7;
	check_refused(SCRIPT_TORN);
	made.bounds.code_to = function(1) + STEP;
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
}

static void test_code_jumps_back(void **state)
{
	static const uint8_t leaving[] = { RETURN_FROM_FRAME(16) };

	CODE(0xeb, 0xe0); /* 30 bytes in front of it */
	memcpy(made.code + WALK_CODE_WINDOW - 30, leaving, sizeof(leaving));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

/* vpor and vpshufd: their opcodes are those of jumps elsewhere. */
static void test_vector_instructions_are_no_jumps(void **state)
{
	CODE(0xc5, 0xf9, 0xeb, 0xc1, 0xc5, 0xf9, 0x70, 0xc1, 0x10, RETURN_FROM_FRAME(16));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

/* A jump to another function, or to its own begin, is a call whose caller is this one's. */
static void test_last_calls_end_a_frame(void **state)
{
	CODE(0x48, 0x83, 0xc4, 16, 0xe9, 0, 0, 1, 0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
	CODE(0x48, 0x83, 0xc4, 16, 0x42, 0xff, 0x64, 0xe0, 0x08); /* jmp *8(%rax,%r12,8) */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CODE(0x48, 0x83, 0xc4, 16, 0xff, 0x24, 0xc8); /* jmp *(%rax,%rcx,8): a table of its own */
	check_refused(SCRIPT_TORN);
	CODE(0xe9, 0, 0, 0, 0, RETURN_FROM_FRAME(16));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(1, 2, 3);
}

static void test_the_outermost_function_returns_to_the_end(void **state)
{
	made.returns[3].window.pc += 8;
	check_refused(SCRIPT_TORN);
	make();
	made.n--;
	check_refused(SCRIPT_TORN);
	make();
	made.n--;
	assert_int_equal(read_as(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	CHECK(1, 2, 3);
	assert_int_equal(stack.own_end, WIRE_stack_end_FRAME_LIMIT);
}

static void test_unknown_functions_tell_nothing(void **state)
{
	made.returns[2].element.identity++;
	check_refused(SCRIPT_UNKNOWN);
	made.returns[2].element.identity = 0;
	check_refused(SCRIPT_TORN);
}

static void test_c_frames_must_end_with_the_code(void **state)
{
	end_at(made.returns[0].window.pc + 1, SP, 0);
	check_refused(SCRIPT_CUT);
	end_at(made.returns[0].window.pc, SP + 8, 0);
	check_refused(SCRIPT_CUT);
}

/* Another thread executes a function of C for the process, in the loop's frame. */
static void leave_to_loop(size_t loop_frame)
{
	made.returns[0] = made.returns[3]; /* not executed */
	made.returns[0].element.address = made.returns[0].window.pc = 0;
	made.bounds.top = SP + 16;
	thread.sp = OTHER - 0x300;
	test_c.frames[loop_frame].address = TEST_LOOP + 8;
	test_c.unwinding.end = WIRE_stack_end_COMPLETE;
	stack.language = SCRIPT_BEAM;
}

static void test_another_thread_calls_c_for_a_process(void **state)
{
	leave_to_loop(2);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK(2, 3);
	assert_int_equal(script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding),
			 SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, 3 + 2);
	assert_int_equal(test_c.frames[2].address, TEST_LOOP + 8);
	assert_int_equal(test_c.frames[3].address, script_start(SCRIPT_BEAM) + script_place(2, 12));
}

static void test_what_is_not_in_the_loop_calls_nothing(void **state)
{
	leave_to_loop(0); /* it has not called anything */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding),
			 SCRIPT_NO_FRAMES);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES);
	assert_int_equal(test_c.unwinding.end, WIRE_stack_end_COMPLETE);
}

static void test_what_is_out_of_bounds_is_torn(void **state)
{
	CODE(COME_BACK_BY_TOP, RETURN_FROM_FRAME(16));
	made.bounds.top = LOW - 64;
	call_c(0);
	check_refused(SCRIPT_TORN);
	made.bounds.top = HIGH;
	check_refused(SCRIPT_TORN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions_are_those_to_which_it_returns,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_script_ends_the_stack, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_c_has_kept_the_stack_pointer, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_the_process_has_noted_its_top, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_code_that_goes_to_c_comes_back, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_older_return_address_is_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_terms_are_no_return_addresses, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_shared_code_returns_to_any_address, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_ways_that_disagree_tell_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_ways_end_with_the_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_code_jumps_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_vector_instructions_are_no_jumps, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_last_calls_end_a_frame, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_outermost_function_returns_to_the_end,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unknown_functions_tell_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_c_frames_must_end_with_the_code, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_another_thread_calls_c_for_a_process, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_not_in_the_loop_calls_nothing, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_out_of_bounds_is_torn, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
