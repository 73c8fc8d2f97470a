/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of JavaScript become frames inside of those that execute them, as far as it is known.
 */
#include "common/script/script-place.h"
#include "live-unwinder/test-v8-records.h"
#include "live-unwinder/v8/v8-builtins.h"

enum {
	MAPPING = 5,
	WINDOW = 104,
	STACK = 0x70000000,
	FRAME_SIZE = 0x100,
	N_C = 6,
	BUILTINS_SIZE = 0x80, /* of the file's code; behind it is C++ */
};

/* Where a frame of the interpreter is. */
#define INTERPRETED(frame) ((uint64_t)INTERPRETER + 0x10 * (frame))

static const struct script_loop no_loop = { -1, -1, -1, -1 };

static struct bytes walk;
static uint16_t n_elements;
static struct process_table processes;
static struct script_stack stack;
static struct wire_frame frames[N_C + SCRIPT_FRAMES_MAX];
static uint64_t pointers[N_C];
static struct unwinding unwinding;
static struct v8_function builtin = { 0, BUILTINS_SIZE };
static struct v8_functions functions = { &builtin, 1 };
static struct v8_builtins builtins;

static void add_process(void)
{
	const struct wire_process process = { .process = PROCESS,
					      .pid = PROCESS,
					      .origin = WIRE_origin_SCANNED,
					      .name = wire_string("node", 4) };
	const struct wire_mapping mapping = { .mapping = 1,
					      .process = PROCESS,
					      .start = INTERPRETER,
					      .length = IMAGE_SIZE,
					      .image = IMAGE };

	assert_int_equal(process_table_add(&processes, &process), 0);
	assert_int_equal(process_table_map(&processes, &mapping), 0);
}

/* Frames of C, without any of V8. */
static void make_c(void)
{
	for (size_t i = 0; i < N_C; i++) {
		frames[i] = (struct wire_frame){ .address = C + i };
		pointers[i] = STACK + i * FRAME_SIZE;
	}
	frames[0].flags = WIRE_frame_flags_EXACT;
	unwinding = (struct unwinding){
		.process = process_table_find(&processes, PROCESS),
		.frames = frames,
		.stack_pointers = pointers,
		.n_frames = N_C,
		.end = WIRE_stack_end_COMPLETE,
		.builtins = &builtins,
	};
}

static void begin_walk(void)
{
	walk.n = 8;
	n_elements = 0;
}

static int set_up(void **state)
{
	memset(&processes, 0, sizeof(processes));
	memset(&scripts, 0, sizeof(scripts));
	scripts_init(&scripts);
	pair_map_init(&builtins.by_image, 1);
	assert_int_equal(pair_map_add(&builtins.by_image, IMAGE, 0, (uintptr_t)&functions), 0);
	add_runtime();
	add_process();
	add_usual_records();
	make_c();
	begin_walk();
	return 0;
}

static int tear_down(void **state)
{
	scripts_deinit(&scripts);
	process_table_deinit(&processes);
	pair_map_deinit(&builtins.by_image);
	return 0;
}

/* The frame pointer of a frame. */
static uint64_t pointer_of(size_t frame)
{
	return STACK + (frame + 1) * FRAME_SIZE - 16;
}

/* Adds a frame of the list: of a function (0: none), with the object of its code (0: none). */
static void add_element(uint64_t address, uint64_t function, uint64_t instruction, uint64_t code)
{
	uint64_t window[WINDOW / 8] = {
		[4] = BYTECODE, [6] = address_of(function), [10] = instruction,
		[11] = code,	[12] = code ? IDENTITY : 0,
	};

	put_word(&walk, address);
	put_word(&walk, function ? IDENTITY : 0);
	put(&walk, window, sizeof(window));
	n_elements++;
}

/* The list begins with a frame without a function, as if JavaScript had called C++. */
static void begin_below_c(void)
{
	begin_walk();
	add_element(STACK + 8, 0, 0, 0);
}

/* Makes a C frame one of the interpreter, and adds it to the list. */
static void add_interpreted(size_t frame, uint64_t function)
{
	frames[frame].address = INTERPRETED(frame);
	add_element(pointer_of(frame), function, frames[frame].address, 0);
}

/* Makes a C frame one of a compiler's code. */
static void set_compiled(size_t frame, uint64_t address)
{
	frames[frame].address = address;
	if (frame)
		frames[frame].flags = WIRE_frame_flags_FRAME_POINTER;
}

static void add_compiled(size_t frame, uint64_t function, uint64_t address, uint64_t code)
{
	set_compiled(frame, address);
	add_element(pointer_of(frame), function, address, code);
}

static enum script_outcome read_until(uint16_t end)
{
	const uint16_t head[] = { 0, WINDOW, n_elements, end };
	const struct wire_sample sample = { .process = PROCESS, .walk = { walk.at, walk.n } };

	memcpy(walk.at, head, sizeof(head));
	return v8_walk_read(&fields, &scripts.codes, &sample, &stack);
}

static enum script_outcome read_walk(void)
{
	return read_until(WIRE_walk_end_END);
}

static enum script_outcome merge(void)
{
	stack.language = SCRIPT_V8;
	stack.image = IMAGE;
	return script_merge(&stack, &no_loop, MAPPING, &unwinding);
}

static void check_functions(const uint64_t *expected, size_t n)
{
	assert_int_equal(stack.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stack.places[i], script_place(expected[i], 0));
}

/* Functions by number, innermost first. */
#define CHECK_FUNCTIONS(...)                                                                       \
	check_functions((const uint64_t[]){ __VA_ARGS__ },                                         \
			sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void check_frames(const uint64_t *expected, size_t n)
{
	assert_int_equal(unwinding.n_frames, n);
	for (size_t i = 0; i < n; i++) {
		bool is_script = frames[i].flags & WIRE_frame_flags_SCRIPT;
		uint64_t place = frames[i].address - script_start(SCRIPT_V8);

		assert_int_equal(is_script, expected[i] < FUNCTION);
		assert_int_equal(is_script ? script_place_number(place) : frames[i].address,
				 expected[i]);
	}
}

/* Of all frames, innermost first: the number of a function, or the address of C's. */
#define CHECK_FRAMES(...)                                                                          \
	check_frames((const uint64_t[]){ __VA_ARGS__ },                                            \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void check_merged(enum script_outcome read, enum script_outcome merged)
{
	assert_int_equal(read_walk(), read);
	assert_int_equal(merge(), merged);
}

static void test_interpreted_frames_have_their_function(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_interpreted(3, 4);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, 4, INTERPRETED(3), C + 4, C + 5);
	assert_int_equal(frames[1].flags, WIRE_frame_flags_SCRIPT | WIRE_frame_flags_EXACT);
	assert_int_equal(frames[1].mapping, MAPPING);
}

static void test_optimized_code_has_what_it_has_inlined(void **state)
{
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT + 5, OF_OPTIMIZED);
	add_compiled(2, OWN, JIT + ONE_INLINED_AT + 5, OF_OPTIMIZED);
	add_compiled(3, OWN, JIT + OWN_AGAIN_AT + 5, OF_OPTIMIZED);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, SECOND_INLINED, FIRST_INLINED, OWN, JIT + TWO_INLINED_AT + 5, FIRST_INLINED,
		     OWN, JIT + ONE_INLINED_AT + 5, OWN, JIT + OWN_AGAIN_AT + 5, C + 4, C + 5);
}

/* Code may end where a call returns to, and what is behind it may be of another function. */
static void test_a_call_is_in_front_of_where_it_returns(void **state)
{
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT, OF_OPTIMIZED);
	add_compiled(2, OWN, JIT + OWN_AGAIN_AT, OF_OPTIMIZED);
	add_compiled(3, OWN, JIT + RARE_AT, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(FIRST_INLINED, OWN, SECOND_INLINED, FIRST_INLINED, OWN, OWN);
}

/* Code for rare cases has no entries of its own. */
static void test_behind_the_last_entry_nothing_is_known(void **state)
{
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT + 5, OF_OPTIMIZED);
	add_compiled(2, OWN, JIT + RARE_AT + 1, OF_OPTIMIZED);
	add_compiled(3, OWN, JIT + LENGTH, OF_OPTIMIZED);
	check_merged(SCRIPT_PARTLY, SCRIPT_PARTLY);
	CHECK_FUNCTIONS(SECOND_INLINED, FIRST_INLINED, OWN);
}

static void test_what_is_executed_is_where_it_is(void **state)
{
	add_compiled(0, OWN, JIT + TWO_INLINED_AT, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(SECOND_INLINED, FIRST_INLINED, OWN);
	begin_walk();
	add_compiled(0, OWN, JIT + TWO_INLINED_AT - 1, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(FIRST_INLINED, OWN);
}

static void test_instructions_outside_of_their_code(void **state)
{
	static const uint64_t outside[] = { JIT - 1, JIT, JIT + LENGTH + 1 };

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		begin_below_c();
		add_compiled(1, OWN, outside[i], OF_OPTIMIZED);
		assert_int_equal(read_walk(), SCRIPT_PARTLY);
		assert_int_equal(stack.n, 0);
	}
	begin_walk();
	add_compiled(0, OWN, JIT + LENGTH, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
}

/* The code has ended already, or has no frame yet: the frame is that of what called it. */
static void test_code_of_another_function_is_not_the_frames(void **state)
{
	begin_below_c();
	add_compiled(1, OWN + 1, JIT + 0x40, OF_OPTIMIZED);
	add_interpreted(3, 4);
	check_merged(SCRIPT_PARTLY, SCRIPT_PARTLY);
	CHECK_FRAMES(C, JIT + 0x40, C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

/* Up to some version the data of optimized code has it, later it leads to what has it. */
static void test_code_leads_to_its_own_function(void **state)
{
	fields.data_own = -1;
	begin_below_c();
	add_compiled(1, OWN + 1, JIT + 0x40, OF_OPTIMIZED);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	CHECK_FUNCTIONS(OWN + 1);
}

static void test_baseline_code_is_of_its_bytecode(void **state)
{
	begin_below_c();
	add_compiled(1, 4, JIT_BASELINE + 0x40, OF_BASELINE);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, 4, JIT_BASELINE + 0x40, C + 2, C + 3, C + 4, C + 5);
	make_baseline(BYTECODE + STEP);
	add_record(BASELINE_NUMBER + 1, OF_UNKNOWN);
	begin_below_c();
	add_compiled(1, 4, JIT_BASELINE + 0x40, OF_UNKNOWN);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 0);
}

/* They are in the stack already, by their addresses. */
static void test_builtins_have_no_frame(void **state)
{
	begin_below_c();
	add_interpreted(1, BUILTIN);
	add_interpreted(2, 2);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, INTERPRETED(1), 2, INTERPRETED(2), C + 3, C + 4, C + 5);
}

static void test_frames_that_the_stack_does_not_have(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_element(pointer_of(2) - 8, 3, INTERPRETED(2), 0);
	add_interpreted(3, 4);
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

static void test_frames_that_execute_something_else(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_element(pointer_of(3), 4, C + 3, 0); /* the interpreter executes its own code only */
	add_compiled(4, OWN, JIT + 0x40, OF_OPTIMIZED);
	frames[1].address++;
	frames[4].address++;
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	assert_int_equal(unwinding.n_frames, N_C);
}

/* As those of a thread that marks objects: words of its stack look like a frame of JavaScript. */
static void test_cpp_executes_no_function(void **state)
{
	begin_below_c();
	frames[1].address =
		INTERPRETER + BUILTINS_SIZE + 1; /* it returns behind the last builtin */
	add_element(pointer_of(1), 2, frames[1].address, 0);
	add_interpreted(3, 4);
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, INTERPRETER + BUILTINS_SIZE + 1, C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

static void test_frames_behind_the_end_of_the_stack(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	add_interpreted(N_C - 1, 4); /* where the last one ends is not known */
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, C + 3, C + 4, INTERPRETED(5));
}

/* Of what has called C without a frame V8 has an instruction in front of the call. */
static void test_the_innermost_frame_calls_shortly_behind(void **state)
{
	add_compiled(1, OWN, JIT + 0x40, OF_OPTIMIZED);
	frames[1].address += 0x40;
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(C, OWN, JIT + 0x80, C + 2, C + 3, C + 4, C + 5);
	make_c();
	begin_walk();
	add_compiled(1, OWN, JIT + 0x40, OF_OPTIMIZED);
	frames[1].address += 0x41;
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
}

/* A function that has no frame yet executes; what has called it has the frame. */
static void test_the_innermost_frame_is_that_of_one_alternative(void **state)
{
	set_compiled(0, JIT_BASELINE + 2);
	add_element(pointer_of(1), 2, JIT_BASELINE + 2, OF_UNKNOWN);
	add_interpreted(1, 2);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(JIT_BASELINE + 2, 2, INTERPRETED(1), C + 2, C + 3, C + 4, C + 5);
	/* The other way round: what may have called it has not. */
	make_c();
	begin_walk();
	add_interpreted(0, 2);
	add_element(pointer_of(0), 2, JIT + 0x40, OF_OPTIMIZED);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(2, INTERPRETED(0), C + 1, C + 2, C + 3, C + 4, C + 5);
}

static void test_two_alternatives_that_may_be_are_put_once(void **state)
{
	frames[0].address = INTERPRETED(0);
	add_element(pointer_of(1), 2, INTERPRETED(0), 0);
	add_interpreted(1, 2);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(INTERPRETED(0), 2, INTERPRETED(1), C + 2, C + 3, C + 4, C + 5);
	begin_walk();
	add_element(pointer_of(1), 2, JIT_BASELINE + 2, OF_UNKNOWN);
	add_element(pointer_of(1), 2, JIT + 2, OF_UNKNOWN);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 0);
}

/* A function that has called itself has no frame yet: that of its caller is where that one is. */
static void test_a_function_that_calls_itself(void **state)
{
	set_compiled(0, JIT + 0x2f);
	add_element(pointer_of(1), OWN, JIT + 0x2f, OF_OPTIMIZED);
	add_compiled(1, OWN, JIT + ONE_INLINED_AT + 5, OF_OPTIMIZED);
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(JIT + 0x2f, FIRST_INLINED, OWN, JIT + ONE_INLINED_AT + 5, C + 2, C + 3, C + 4,
		     C + 5);
}

/* On top of the stack is an old return address, as if what is executed had no frame yet. */
static void make_false_caller(uint64_t instruction, uint64_t caller)
{
	make_c();
	begin_walk();
	set_compiled(0, instruction);
	set_compiled(1, caller);
	add_element(pointer_of(1), OWN, instruction, OF_OPTIMIZED);
	add_element(pointer_of(1), OWN, caller, caller < JIT ? 0 : OF_BASELINE);
}

static void test_a_false_caller_is_removed(void **state)
{
	make_false_caller(JIT + 0x30, INTERPRETED(1));
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(OWN, JIT + 0x30, C + 2, C + 3, C + 4, C + 5);
	assert_int_equal(pointers[1], STACK + 2 * FRAME_SIZE);
}

static void test_a_caller_that_may_be_is_not(void **state)
{
	make_false_caller(JIT + 0x2f, JIT_BASELINE + 0x50); /* its frame may not be made yet */
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	CHECK_FRAMES(JIT + 0x2f, OWN, JIT_BASELINE + 0x50, C + 2, C + 3, C + 4, C + 5);
	make_false_caller(JIT + 0x30, INTERPRETED(1));
	frames[0].address++; /* the innermost frame executes something else */
	read_walk();
	merge();
	assert_int_equal(frames[0].address, JIT + 0x31);
	assert_int_equal(frames[1].address, INTERPRETED(1));
	make_false_caller(JIT + 0x30, INTERPRETED(1));
	pointers[2]++; /* the second one has another frame */
	read_walk();
	merge();
	assert_int_equal(unwinding.n_frames, N_C);
}

/* As it ends, the frame is that of its caller, which is the same function. */
static void test_a_function_that_has_called_itself(void **state)
{
	make_false_caller(JIT + 0x30, JIT_BASELINE + 0x50);
	read_walk();
	merge();
	assert_int_equal(unwinding.n_frames, N_C);
	make_false_caller(JIT + 0x30, INTERPRETED(3)); /* what runs interpreted functions */
	add_interpreted(3, 4);
	read_walk();
	merge();
	CHECK_FRAMES(JIT + 0x30, INTERPRETED(3), C + 2, 4, INTERPRETED(3), C + 4, C + 5);
}

/* Code without unwind information, outside of the interpreter, is that of a compiler. */
static void test_compiled_code_without_a_function(void **state)
{
	begin_below_c();
	add_interpreted(1, 2);
	set_compiled(3, INTERPRETED(3));
	check_merged(SCRIPT_WHOLE, SCRIPT_WHOLE);
	assert_int_equal(unwinding.n_frames, N_C + 1);
	make_c();
	begin_below_c();
	add_interpreted(1, 2);
	set_compiled(3, JIT + 0x40);
	check_merged(SCRIPT_WHOLE, SCRIPT_PARTLY);
	CHECK_FRAMES(C, 2, INTERPRETED(1), C + 2, JIT + 0x40, C + 4, C + 5);
}

static void test_objects_that_the_stream_does_not_have(void **state)
{
	begin_below_c();
	add_interpreted(1, UNKNOWN);
	add_compiled(2, OWN, JIT + 0x40, OF_UNKNOWN);
	add_interpreted(3, 4);
	check_merged(SCRIPT_PARTLY, SCRIPT_PARTLY);
	CHECK_FRAMES(C, INTERPRETED(1), JIT + 0x40, 4, INTERPRETED(3), C + 4, C + 5);
	make_optimized(usual_inlinings, 2);
	record.at[record.n - 16]++; /* the identity of the function that is inlined first */
	add_record(OPTIMIZED_NUMBER + 2, OF_UNKNOWN);
	begin_below_c();
	add_compiled(1, OWN, JIT + TWO_INLINED_AT + 5, OF_UNKNOWN);
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 0);
}

static void test_walks_without_functions(void **state)
{
	begin_below_c();
	add_interpreted(1, BUILTIN);
	assert_int_equal(read_walk(), SCRIPT_NO_FRAMES);
	begin_walk();
	assert_int_equal(read_walk(), SCRIPT_NO_FRAMES);
	begin_below_c();
	add_interpreted(1, 2);
	assert_int_equal(read_until(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 1);
	fields.frame_code = WINDOW - 8;
	assert_int_equal(read_walk(), SCRIPT_DAMAGED);
	assert_int_equal(stack.n_segments, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_interpreted_frames_have_their_function),
		TEST(test_optimized_code_has_what_it_has_inlined),
		TEST(test_a_call_is_in_front_of_where_it_returns),
		TEST(test_behind_the_last_entry_nothing_is_known),
		TEST(test_what_is_executed_is_where_it_is),
		TEST(test_instructions_outside_of_their_code),
		TEST(test_code_of_another_function_is_not_the_frames),
		TEST(test_code_leads_to_its_own_function),
		TEST(test_baseline_code_is_of_its_bytecode),
		TEST(test_builtins_have_no_frame),
		TEST(test_frames_that_the_stack_does_not_have),
		TEST(test_frames_that_execute_something_else),
		TEST(test_cpp_executes_no_function),
		TEST(test_frames_behind_the_end_of_the_stack),
		TEST(test_the_innermost_frame_calls_shortly_behind),
		TEST(test_the_innermost_frame_is_that_of_one_alternative),
		TEST(test_two_alternatives_that_may_be_are_put_once),
		TEST(test_a_function_that_calls_itself),
		TEST(test_a_false_caller_is_removed),
		TEST(test_a_function_that_has_called_itself),
		TEST(test_a_caller_that_may_be_is_not),
		TEST(test_compiled_code_without_a_function),
		TEST(test_objects_that_the_stream_does_not_have),
		TEST(test_walks_without_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
