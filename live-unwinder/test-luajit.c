/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of LuaJIT become frames inside of the frames of C that execute them, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/luajit-calls.h"
#include "live-unwinder/script/luajit-walk.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	/* Functions: their code is behind them. */
	N_FUNCTIONS = 4,
	N_CODE = 50,
	FUNCTIONS = 0x100000,
	STEP = 0x1000,
	PROTO = 104,
	RBX = 3,
	/* Threads, and their stacks. */
	THREAD = 0x800000,
	RESUMER = 0x810000,
	STACK = 0x900000,
	RESUMER_STACK = 0x910000,
	/* Links. */
	OF_C = 0x40 | 1,
	PROTECTED = 0x40 | 6,
	CONTINUATION = 0x40 | 2,
	VARIABLE = 0x40 | 3,
	/* Words of frames in C, which are as large as those of the tests. */
	RESULTS = 1,
	OWNER = 2,
	PC = 3,
	PREVIOUS = 4,
	LAST = TEST_FRAME / 8 - 1,
	LOOPS = 1 << 0 | 1 << 2,
	OTHER_LIST = 3,
	TRACE = 0x600000, /* an address in code of a trace */
};

static const struct runtime_fields fields = {
	.language = SCRIPT_LUAJIT,
	.loop = { TEST_LOOP, TEST_LOOP + TEST_LOOP_SIZE, 0, 0 },
	.luajit = {
		.frame_continuation = 0,
		.frame_continuation_pc = 8,
		.frame_function = 16,
		.frame_link = 24,
		.frame_proto = 32,
		.thread_stack = 0,
		.thread_cframe = 8,
		.global_jit_base = 0,
		.cframe_size = TEST_FRAME,
		.proto_size = PROTO,
		.proto_count = 12,
		.proto_total = 56,
		.proto_constants = 32,
		.left = TEST_LOOP + 0x200,
		.torn = { TEST_LOOP + 0x100 },
	},
};

/* What is in front of a base, and the code of its function. */
struct window {
	uint64_t continuation, continuation_pc, function, link, proto;
};

struct frame {
	struct walk_element element;
	struct window window;
};

static struct {
	struct frame frames[16];
	size_t n;
	struct frame others[16]; /* of the thread that has resumed the current one */
	size_t n_others;
	uint64_t stack, cframe, jit_base; /* of the current thread */
	char bytes[8192];
	size_t size;
} made;

static struct code_table codes;
static struct script_stack stack;
static struct script_thread thread;

/* An address behind so many instructions of a function. */
static uint64_t code_of(int function, int n)
{
	return FUNCTIONS + function * STEP + PROTO + n * 4;
}

/* A frame of a function; 0: of C. */
static struct frame frame(uint64_t base, int function, uint64_t link)
{
	return (struct frame){
		{ base, function ? IDENTITY : 0 },
		{ .function = 0x1234,
		  .link = link,
		  .proto = function ? FUNCTIONS + function * STEP : 0 },
	};
}

static struct frame bottom(uint64_t of, uint64_t stack_of)
{
	struct frame ret = frame(stack_of + 16, 0, UINT64_MAX);

	ret.window.function = 0xfffc000000000000 | of;
	return ret;
}

static void put(const void *bytes, size_t size)
{
	memcpy(made.bytes + made.size, bytes, size);
	made.size += size;
}

static void put_head(uint16_t number, uint16_t window, uint16_t n)
{
	const uint16_t head[] = { number, window, n,
				  n ? WIRE_walk_end_END : WIRE_walk_end_NO_ROOT };

	put(head, sizeof(head));
}

static void make_walk(void)
{
	const uint64_t of_thread[] = { THREAD, 0, made.stack, made.cframe },
		       of_all[] = { 0x700000, 0, made.jit_base };

	made.size = 0;
	put_head(0, sizeof(struct window), made.n);
	put(made.frames, made.n * sizeof(made.frames[0]));
	put_head(1, sizeof(of_thread) - sizeof(struct walk_element), 1);
	put(of_thread, sizeof(of_thread));
	put_head(2, sizeof(of_all) - sizeof(struct walk_element), 1);
	put(of_all, sizeof(of_all));
	put_head(OTHER_LIST, sizeof(struct window), made.n_others);
	put(made.others, made.n_others * sizeof(made.others[0]));
	test_c.sample.walk = (struct wire_blob){ made.bytes, made.size };
}

static enum script_outcome read_walk(void)
{
	make_walk();
	thread.sample = &test_c.sample;
	return luajit_walk_read(&fields, &codes, &thread, &stack);
}

static void set_register(uint8_t number, uint64_t value)
{
	test_c.registers[arch_x86_64.sample_index[number]] = value;
}

/* The interpreter executes an address of its loop, and has executed that of a function. */
static void execute(uint64_t at, uint64_t pc)
{
	test_c.frames[0].address = at;
	set_register(arch_x86_64.pc, at);
	set_register(RBX, pc);
	thread.told = (struct made_caller){ at, TEST_STACK, THREAD };
}

static uint64_t cframe(size_t i)
{
	return test_c.pointers[i];
}

/* Makes a frame of C one of the interpreter. */
static void put_cframe(size_t i, uint64_t owner, uint64_t previous)
{
	test_c_put(i, OWNER, owner);
	test_c_put(i, PREVIOUS, previous);
	test_c_put(i, LAST, test_c.frames[i + 1].address);
	test_c_put(i, LAST - 1, 0x77 + i);
}

/* Function 1, which 2 has called, and that a function of C, called by 3, that C has called. */
static int set_up(void **state)
{
	memset(&made, 0, sizeof(made));
	code_table_init(&codes);
	for (uint64_t i = 1; i <= N_FUNCTIONS; i++) {
		char bytes[PROTO] = { [9] = 7 };
		const uint32_t n = N_CODE, total = PROTO + 300;
		const uint64_t constants = FUNCTIONS + i * STEP + PROTO + N_CODE * 4 + 16;
		const struct wire_memory record = {
			.process = PROCESS,
			.address = FUNCTIONS + i * STEP,
			.identity = IDENTITY,
			.number = i,
			.bytes = { bytes, sizeof(bytes) },
		};

		memcpy(bytes + fields.luajit.proto_count, &n, sizeof(n));
		memcpy(bytes + fields.luajit.proto_total, &total, sizeof(total));
		memcpy(bytes + fields.luajit.proto_constants, &constants, sizeof(constants));
		assert_int_equal(luajit_code_size(&fields.luajit, &record), N_CODE);
		assert_int_equal(
			code_table_add(&codes, &record, luajit_code_size(&fields.luajit, &record)),
			0);
	}
	test_c_begin(PROCESS, LOOPS);
	thread = (struct script_thread){ .arch = &arch_x86_64, .sp = TEST_STACK };
	made.frames[made.n++] = frame(STACK + 0x100, 1, code_of(2, 9));
	made.frames[made.n++] = frame(STACK + 0xc0, 2, OF_C);
	made.frames[made.n++] = frame(STACK + 0x80, 0, code_of(3, 5));
	made.frames[made.n++] = frame(STACK + 0x40, 3, OF_C);
	made.frames[made.n++] = bottom(THREAD, STACK);
	made.stack = STACK;
	made.cframe = cframe(0) | 1;
	put_cframe(0, THREAD, cframe(2));
	put_cframe(2, THREAD, 0);
	execute(TEST_LOOP + 16, code_of(1, 3));
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

static void test_functions_are_in_frames_of_c(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(stack.places[0], script_place(1, 2));
	assert_int_equal(stack.places[1], script_place(2, 8));
	assert_int_equal(stack.places[2], script_place(3, 4));
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 2);
	assert_int_equal(stack.segments[0].anchor, cframe(0));
	assert_int_equal(stack.segments[1].anchor, cframe(2));
	stack.language = SCRIPT_LUAJIT;
	assert_int_equal(script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding),
			 SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 3);
	assert_int_equal(test_c.frames[0].flags, WIRE_frame_flags_SCRIPT | WIRE_frame_flags_EXACT);
	assert_int_equal(test_c.frames[4].flags, WIRE_frame_flags_SCRIPT | WIRE_frame_flags_EXACT);
}

/* A function that begins, or has been left, or whose frame has no link yet. */
static void test_the_innermost_frame_is_what_it_is_for_certain(void **state)
{
	execute(TEST_LOOP + 16, code_of(1, 0));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(1, 0));
	execute(TEST_LOOP + 16, code_of(2, 9)); /* its caller goes on there */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(2, 8));
	execute(TEST_LOOP + 16, code_of(2, 7));
	check_refused(SCRIPT_TORN);
	execute(TEST_LOOP + 0x100, code_of(1, 3));
	check_refused(SCRIPT_TORN);
	made.frames[0] = frame(STACK + 0x100, 0, code_of(2, 9)); /* a part of the interpreter */
	execute(TEST_LOOP + 16, 0x1234);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 2);
	execute(TEST_LOOP + 16, code_of(2, 7)); /* its link is an old one */
	check_refused(SCRIPT_TORN);
}

static void test_what_has_called_c_has_noted_it(void **state)
{
	test_c_put(0, PC, code_of(1, 30));
	execute(TEST_LOOP + 16, code_of(4, 3));
	thread.told.sp = cframe(0) + 8; /* another frame is innermost */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(1, 29));
	test_c_put(0, PC, code_of(4, 30));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(1, SCRIPT_INSTRUCTION_UNKNOWN));
	thread.told.pc = fields.luajit.left; /* that is where a trace began */
	test_c_put(0, PC, code_of(1, 30));
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(1, SCRIPT_INSTRUCTION_UNKNOWN));
	thread.told.fp = THREAD + 8; /* it has not noted it */
	check_refused(SCRIPT_TORN);
	thread.told = (struct made_caller){ 0 };
	check_refused(SCRIPT_NO_FRAMES);
}

static void test_a_trace_has_its_first_frame(void **state)
{
	execute(TRACE, code_of(4, 3));
	check_refused(SCRIPT_TORN);
	made.jit_base = STACK + 0x100;
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(stack.places[0], script_place(1, SCRIPT_INSTRUCTION_UNKNOWN));
	made.jit_base += 8;
	check_refused(SCRIPT_TORN);
}

static void test_links_of_other_kinds(void **state)
{
	made.frames[0].window.link = PROTECTED; /* by pcall(): nobody knows where 2 is */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[1], script_place(2, SCRIPT_INSTRUCTION_UNKNOWN));
	made.frames[0].window.link = CONTINUATION;
	made.frames[0].window.continuation = 0x5000;
	made.frames[0].window.continuation_pc = code_of(2, 20);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[1], script_place(2, 19));
	made.frames[0].window.continuation =
		1; /* by C: there are more such calls than frames in C */
	check_refused(SCRIPT_TORN);
}

static void test_a_copy_of_a_frame_is_one_with_it(void **state)
{
	memmove(made.frames + 1, made.frames, made.n++ * sizeof(made.frames[0]));
	made.frames[0] = frame(STACK + 0x140, 1, VARIABLE);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(stack.places[0], script_place(1, 2));
}

static void test_lists_that_are_none_are_refused(void **state)
{
	made.frames[0].window.link = code_of(3, 9); /* of another function */
	check_refused(SCRIPT_TORN);
	made.frames[0].window.link = code_of(2, N_CODE + 1);
	check_refused(SCRIPT_TORN);
	made.frames[0].window.link = code_of(2, 9) + 4096;
	check_refused(SCRIPT_TORN);
	made.frames[0].window.link = code_of(2, 9);
	made.frames[1].element.identity = IDENTITY + 1;
	check_refused(SCRIPT_UNKNOWN);
	made.frames[1].element.identity = IDENTITY;
	made.n--; /* it does not go on to its end */
	check_refused(SCRIPT_TORN);
	made.n++;
	made.stack += 8;
	check_refused(SCRIPT_TORN);
	made.stack -= 8;
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
}

static void test_frames_in_c_are_the_threads_own(void **state)
{
	test_c_put(2, OWNER, RESUMER);
	check_refused(SCRIPT_TORN);
	test_c_put(2, OWNER, THREAD);
	test_c_put(0, PREVIOUS, 0);
	check_refused(SCRIPT_TORN);
	test_c_put(0, PREVIOUS, cframe(0));
	check_refused(SCRIPT_TORN);
	test_c_put(0, PREVIOUS, cframe(2));
	test_c_put(2, PREVIOUS, cframe(4)); /* one more than calls */
	put_cframe(4, THREAD, 0);
	check_refused(SCRIPT_TORN);
	test_c_put(4, RESULTS, (uint32_t)-0x40); /* that executes C */
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	test_c_put(2, RESULTS,
		   (uint32_t)-0x200); /* so does this: what it has called is not there */
	test_c_put(4, RESULTS, 0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.segments[1].anchor, cframe(4));
}

/* The current thread has one frame in C, which the next one of another thread has called. */
static void resume(void)
{
	made.n = 0;
	made.frames[made.n++] = frame(STACK + 0x40, 1, OF_C);
	made.frames[made.n++] = bottom(THREAD, STACK);
	made.others[made.n_others++] = frame(RESUMER_STACK + 0x80, 0, code_of(2, 9));
	made.others[made.n_others++] = frame(RESUMER_STACK + 0x40, 2, OF_C);
	made.others[made.n_others++] = bottom(RESUMER, RESUMER_STACK);
	test_c.frames[1].address = TEST_LOOP + 0x20;
	test_c.frames[2].address = TEST_OTHER;
	put_cframe(0, THREAD, 0);
	put_cframe(1, RESUMER, 0);
}

static void test_threads_resume_each_other(void **state)
{
	resume();
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 2);
	assert_int_equal(stack.segments[1].anchor, cframe(1));
	assert_int_equal(stack.places[1], script_place(2, 8));
	test_c_put(1, OWNER, RESUMER + 8); /* of a third one, which is not known */
	assert_int_equal(read_walk(), SCRIPT_PARTLY);
	assert_int_equal(stack.n, 1);
}

static bool finds(struct luajit_calls *calls, uint64_t pc, uint64_t sp, uint64_t wanted)
{
	const struct made_caller frame = { pc, sp, 0 };
	struct made_caller caller = { 0 };

	return luajit_calls_find(calls, &frame, &caller) && caller.sp == wanted;
}

static struct luajit_calls calls_of(void)
{
	make_walk();
	return luajit_calls_of(&fields.luajit, &fields.loop, &test_c.sample, TEST_STACK);
}

static void test_frames_are_left_as_the_thread_has_noted(void **state)
{
	struct luajit_calls calls = calls_of();
	uint64_t code = TEST_LOOP + 0x20, end = cframe(0) + TEST_FRAME;

	assert_true(luajit_calls_have(&calls, code));
	assert_false(luajit_calls_have(&calls, TEST_LOOP + TEST_LOOP_SIZE));
	assert_false(finds(&calls, code, cframe(0) - 24, end)); /* it may be entered */
	assert_false(finds(&calls, TRACE, cframe(0) - 24, end));
	assert_true(
		finds(&calls, fields.luajit.left, cframe(0) - 512, end)); /* it leaves a trace */
	calls = calls_of();
	assert_true(finds(&calls, code, cframe(0) - 8, end));
	assert_false(finds(&calls, code, cframe(1), end)); /* it has no frame there */
	assert_true(finds(&calls, code, cframe(2), cframe(2) + TEST_FRAME));
	assert_false(luajit_calls_have(&calls, code)); /* that was the outermost one */
	made.jit_base = STACK;
	calls = calls_of();
	assert_true(finds(&calls, TRACE, cframe(0) - 24, end));
	assert_false(finds(&calls, TRACE, cframe(2) - 24, cframe(2) + TEST_FRAME));
	resume();
	calls = calls_of();
	assert_true(finds(&calls, code, cframe(0), end));
	assert_true(finds(&calls, code, cframe(1), cframe(2)));
}

static void test_objects_that_look_like_functions_are_none(void **state)
{
	char bytes[PROTO] = { [9] = 7, [12] = 50 };
	struct wire_memory record = { .bytes = { bytes, sizeof(bytes) } };

	assert_int_equal(luajit_code_size(&fields.luajit, &record), 0);
	record.bytes.size = 9;
	assert_int_equal(luajit_code_size(&fields.luajit, &record), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_functions_are_in_frames_of_c),
		TEST(test_the_innermost_frame_is_what_it_is_for_certain),
		TEST(test_what_has_called_c_has_noted_it),
		TEST(test_a_trace_has_its_first_frame),
		TEST(test_links_of_other_kinds),
		TEST(test_a_copy_of_a_frame_is_one_with_it),
		TEST(test_lists_that_are_none_are_refused),
		TEST(test_frames_in_c_are_the_threads_own),
		TEST(test_threads_resume_each_other),
		TEST(test_frames_are_left_as_the_thread_has_noted),
		TEST(test_objects_that_look_like_functions_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
