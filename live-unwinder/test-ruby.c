/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of Ruby become frames inside of the activations that execute them, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/script-place.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/script/ruby-walk.h"

enum {
	PROCESS = 7,
	MAPPING = 5,
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
	/* Code of C. */
	LOOP = 0x500000,
	LOOP_SIZE = 0x8000,
	OTHER = 0x400000,
	FRAMES = 0x900000,
	STACK = 0x7000,
	FRAME_SIZE = 0x200,
	N_C = 6,
};

static const struct ruby_fields fields = {
	.frame_pc = 0,
	.frame_sp = 8,
	.frame_iseq = 16,
	.frame_flags = FRAME,
	.body_code = CODE_AT,
	.body_count = COUNT_AT,
};

static const struct script_loop loop = { LOOP, LOOP + LOOP_SIZE, 0, 0 };

static struct {
	char bytes[8192];
	size_t size;
	uint16_t n;
} made;

static struct code_table codes;
static struct script_stack stack;
static struct wire_frame frames[N_C + SCRIPT_FRAMES_MAX];
static uint64_t pointers[N_C], words[N_C * FRAME_SIZE / 8], registers[ARCH_REGISTERS_MAX];
static struct wire_sample sample;
static struct unwinding unwinding;

static void begin_walk(void)
{
	made.size = 8;
	made.n = 0;
}

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
	const uint64_t element[] = { address_of(made.n), body ? IDENTITY : 0 };
	const uint64_t window[WINDOW / 8] = {
		body ? code_of(body) + n_words * 8 : 0,
		sp,
		body ? BODY + body * STEP : 0,
		[FRAME / 8] = flags,
	};

	memcpy(made.bytes + made.size, element, sizeof(element));
	memcpy(made.bytes + made.size + sizeof(element), window, sizeof(window));
	made.size += sizeof(element) + sizeof(window);
	made.n++;
}

static enum script_outcome read_until(uint16_t end)
{
	const uint16_t head[] = { 0, WINDOW, made.n, end };

	memcpy(made.bytes, head, sizeof(head));
	sample.walk = (struct wire_blob){ made.bytes, made.size };
	return ruby_walk_read(&fields, &codes, &sample, &stack);
}

static enum script_outcome read_walk(void)
{
	return read_until(WIRE_walk_end_END);
}

static void put_word(size_t frame, size_t word, uint64_t value)
{
	words[(frame * FRAME_SIZE) / 8 + word] = value;
}

/* Frames of C, of which 1 and 3 are of the loop. */
static void make_c(void)
{
	memset(words, 0, sizeof(words));
	memset(registers, 0, sizeof(registers));
	for (size_t i = 0; i < N_C; i++) {
		frames[i] = (struct wire_frame){ .address = OTHER + i };
		pointers[i] = STACK + i * FRAME_SIZE;
	}
	frames[1].address = frames[3].address = LOOP + 16;
	registers[arch_x86_64.sample_index[arch_x86_64.sp]] = STACK;
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

/* A method that a block has called, which C runs for a method; that is called by the script. */
static void make_walk(void)
{
	begin_walk();
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
	make_c();
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
	return script_merge(&stack, &loop, MAPPING, &unwinding);
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
	begin_walk();
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, DUMMY | FINISH | ESCAPED, 0, 0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	begin_walk();
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, DUMMY | FINISH, 0, 0); /* that of a library that is being loaded */
	check_refused(SCRIPT_TORN);
	begin_walk();
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_NO_FRAMES);
}

static void test_frames_that_cannot_be(void **state)
{
	static const uint64_t flags[] = { METHOD - 1, METHOD | OF_C, 0x12340021,
					  METHOD | 1ULL << 32, 0 };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		begin_walk();
		add_frame(1, flags[i], 5, 0);
		add_frame(2, METHOD | FINISH, 5, 0);
		add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
		check_refused(SCRIPT_TORN);
	}
	begin_walk();
	add_frame(1, METHOD, 5, 0); /* that no activation ends */
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_TORN);
	begin_walk();
	add_frame(N_BODIES + 1, METHOD | FINISH, 5, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	check_refused(SCRIPT_UNKNOWN);
	make_walk();
	assert_int_equal(read_until(WIRE_walk_end_LIMIT), SCRIPT_LIMIT);
	assert_int_equal(stack.n, 0);
}

static void test_activations_hold_their_frames(void **state)
{
	put_word(1, 4, address_of(0));
	put_word(3, 4, address_of(4));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(unwinding.n_frames, N_C + 4);
	assert_int_equal(frames[1].address, script_start(SCRIPT_RUBY) + stack.places[0]);
	assert_int_equal(frames[3].address, LOOP + 16);
	assert_int_equal(frames[5].address, script_start(SCRIPT_RUBY) + stack.places[2]);
	assert_int_equal(frames[7].address, LOOP + 16);
}

/* As a frame begins, the loop holds its caller's, and as one has ended, that one. */
static void test_the_innermost_activation_may_hold_a_neighbour(void **state)
{
	put_word(3, 4, address_of(4));
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	put_word(1, 4, address_of(1));
	assert_int_equal(merge(), SCRIPT_WHOLE);
	make_c();
	put_word(3, 4, address_of(4));
	put_word(1, 4, address_of(-1));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	make_c();
	put_word(1, 4, address_of(0));
	put_word(3, 4, address_of(5)); /* outer ones do not */
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
}

/* C has made a frame, but does not execute it yet. */
static void test_what_is_not_begun_has_no_activation(void **state)
{
	begin_walk();
	add_frame(3, BLOCK | FINISH, 0, 0);
	add_frame(0, C_FUNCTION, 0, 0);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	put_word(1, 4, address_of(2));
	put_word(3, 4, address_of(3));
	read_walk();
	assert_int_equal(stack.n_segments, 3);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(unwinding.n_frames, N_C + 2);
	assert_int_equal(frames[1].address, script_start(SCRIPT_RUBY) + script_place(1, 5));
}

/* An exception leaves what is: its frames are still there, and would be missing. */
static void test_what_is_begun_has_one(void **state)
{
	begin_walk();
	add_frame(3, BLOCK | FINISH, 4, 0);
	add_frame(0, C_FUNCTION, 0, 0);
	add_frame(1, METHOD | FINISH, 5, 0);
	add_frame(2, METHOD | FINISH, 7, 0);
	add_frame(0, DUMMY | FINISH | OF_C, 0, 0);
	put_word(1, 4, address_of(2));
	put_word(3, 4, address_of(3));
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
	assert_int_equal(unwinding.n_frames, N_C);
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
		{ STACK + (N_C - 1) * FRAME_SIZE + 0x80, WIRE_stack_end_BAD_UNWIND_INFO,
		  SCRIPT_WHOLE },
		{ STACK + (N_C - 1) * FRAME_SIZE + 0x1c0, WIRE_stack_end_BAD_UNWIND_INFO,
		  SCRIPT_CUT },
		{ STACK + (N_C - 1) * FRAME_SIZE + 0x1c0, WIRE_stack_end_STACK_ABSENT,
		  SCRIPT_WHOLE },
		{ STACK + (N_C - 1) * FRAME_SIZE, WIRE_stack_end_BAD_UNWIND_INFO, SCRIPT_CUT },
		{ STACK + N_C * FRAME_SIZE + 0x40, WIRE_stack_end_TRUNCATED, SCRIPT_CUT },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		make_c();
		unwinding.end = cases[i].end;
		put_word(1, 4, address_of(0));
		put_word(3, 4, address_of(1));
		begin_walk();
		add_frame(1, METHOD | FINISH, 5, 0);
		add_frame(2, METHOD | FINISH, 7, 0);
		add_frame(0, DUMMY | FINISH | OF_C, 0, cases[i].sp);
		assert_int_equal(read_walk(), SCRIPT_WHOLE);
		assert_int_equal(merge(), cases[i].outcome);
	}
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
		TEST(test_what_is_not_begun_has_no_activation),
		TEST(test_what_is_begun_has_one),
		TEST(test_stacks_that_end_at_their_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
