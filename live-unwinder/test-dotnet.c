/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of .NET's managed code are left as it says, and have its methods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "live-unwinder/script/dotnet-calls.h"
#include "live-unwinder/script/dotnet-walk.h"

enum {
	BEGIN = 0x70000000,
	RVA = 0x1000, /* of the code's begin */
	SIZE = 0x100,
	HANDLER = 0x80, /* where a handler of exceptions begins, */
	HANDLER_INFO = 16,
	SP = 0x10000,
	WORDS = 64,
	PROCESS = 7,
	IDENTITY = 99,
	CALLER = 0x80000000,
	RBP = 5 << 4,
	RBX = 3 << 4,
	PUSH = 0,
	ALLOC_LARGE = 1,
	ALLOC_SMALL = 2,
	SET_FRAME = 3,
	SAVE = 4,
	SET_FRAME_LARGE = 11,
};

static struct dotnet_code code;
static uint64_t words[WORDS];
static struct wire_blob stack;
static struct made_caller caller;

/* A function that pushes rbp and rbx, and allocates 32 bytes: of 6 bytes in all. */
static const uint8_t usual[] = {
	1, 6, 3, 0, 6, 3 << 4 | ALLOC_SMALL, 2, RBX | PUSH, 1, RBP | PUSH
};

static void begin_test(const uint8_t *info, size_t size)
{
	code = (struct dotnet_code){
		.n_functions = 2,
		.functions = { { RVA, RVA + HANDLER, RVA + SIZE },
			       { RVA + HANDLER, RVA + SIZE, RVA + SIZE + HANDLER_INFO } },
	};
	memcpy(code.unwind, info, size);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = CALLER + i;
	stack = (struct wire_blob){ words, sizeof(words) };
}

static bool leaves(uint64_t offset, const struct dotnet_bytes *executed)
{
	const struct dotnet_frame frame = {
		.code = &code,
		.begin = BEGIN,
		.at = { BEGIN + offset, SP, SP + 32 },
		.executed = executed,
		.stack = &stack,
		.stack_start = SP,
	};

	return dotnet_frame_leave(&frame, &caller);
}

static void assert_caller(size_t word, uint64_t fp)
{
	assert_int_equal(caller.pc, CALLER + word);
	assert_int_equal(caller.sp, SP + (word + 1) * 8);
	assert_int_equal(caller.fp, fp);
}

/* Whether it is left while it executes some bytes there. */
static bool leaves_at(uint64_t offset, const void *bytes, size_t n)
{
	const struct dotnet_bytes executed = { bytes, n };

	return leaves(offset, &executed);
}

#define LEAVES_AT(offset, ...)                                                                     \
	leaves_at(offset, (const uint8_t[]){ __VA_ARGS__, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 },    \
		  sizeof((const uint8_t[]){ __VA_ARGS__ }) + 6)

static void test_a_frame_that_has_called(void **state)
{
	begin_test(usual, sizeof(usual));
	assert_true(leaves(0x20, NULL));
	assert_caller(6, CALLER + 5);
}

static void test_a_frame_that_is_being_made(void **state)
{
	begin_test(usual, sizeof(usual));
	assert_true(LEAVES_AT(0, 0x55));
	assert_caller(0, SP + 32);
	assert_true(LEAVES_AT(1, 0x53));
	assert_caller(1, CALLER + 0);
	assert_true(LEAVES_AT(2, 0x48, 0x83, 0xec, 0x20));
	assert_caller(2, CALLER + 1);
	assert_true(LEAVES_AT(6, 0x90));
	assert_caller(6, CALLER + 5);
}

static void test_a_frame_that_is_given_back(void **state)
{
	begin_test(usual, sizeof(usual));
	assert_true(LEAVES_AT(0x20, 0x48, 0x83, 0xc4, 0x20, 0x5b, 0x5d, 0xc3));
	assert_caller(6, CALLER + 5);
	assert_true(LEAVES_AT(0x24, 0x5b, 0x5d, 0xc3));
	assert_caller(2, CALLER + 1);
	assert_true(LEAVES_AT(0x25, 0x41, 0x5d, 0x5d, 0xc3)); /* r13, rbp */
	assert_caller(2, CALLER + 1);
	assert_true(LEAVES_AT(0x26, 0xc3));
	assert_caller(0, SP + 32);
	assert_true(LEAVES_AT(0x20, 0xc5, 0xf8, 0x77, 0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3));
	assert_caller(5, CALLER + 4);
	assert_true(LEAVES_AT(0x20, 0x48, 0x81, 0xc4, 8, 0, 0, 0, 0x5d, 0xc3));
	assert_caller(2, CALLER + 1);
}

/* A jump to a function whose result is returned; others are within the method. */
static void test_a_jump_at_the_end(void **state)
{
	begin_test(usual, sizeof(usual));
	assert_true(LEAVES_AT(0x20, 0x5d, 0xe9, 0, 1, 0, 0));
	assert_caller(1, CALLER + 0);
	assert_true(LEAVES_AT(0x20, 0x5d, 0x48, 0xff, 0xe0));
	assert_caller(1, CALLER + 0);
	assert_true(LEAVES_AT(0x20, 0x5d, 0x49, 0xff, 0x23));
	assert_caller(1, CALLER + 0);
	assert_true(LEAVES_AT(0x20, 0xff, 0x25, 0, 0, 0, 0));
	assert_caller(0, SP + 32);
	assert_true(LEAVES_AT(0x20, 0xe9, 0x10, 0, 0, 0));
	assert_caller(6, CALLER + 5);
	assert_true(LEAVES_AT(0x20, 0x41, 0xff, 0xe3));
	assert_caller(6, CALLER + 5);
	assert_true(LEAVES_AT(0x20, 0xff, 0xe0));
	assert_caller(6, CALLER + 5);
	assert_true(LEAVES_AT(0x20, 0x48, 0x83, 0xc4, 0x20, 0x90));
	assert_caller(6, CALLER + 5);
}

static void test_large_frames(void **state)
{
	static const uint8_t words_of_8[] = { 1, 0, 3, 0, 0, ALLOC_LARGE, 4, 0, 0, RBP | PUSH },
			     bytes[] = { 1,  0, 4, 0, 0, 1 << 4 | ALLOC_LARGE,
					 32, 0, 0, 0, 0, RBP | PUSH },
			     by_frame[] = { 1, 0, 2, 1 << 4 | 5, 0, SET_FRAME, 0, RBP | PUSH },
			     by_far[] = { 1, 0, 4, 15 << 4 | 5, 0, SET_FRAME_LARGE,
					  1, 0, 0, 0,		0, RBP | PUSH };

	begin_test(words_of_8, sizeof(words_of_8));
	assert_true(leaves(0x20, NULL));
	assert_caller(5, CALLER + 4);
	begin_test(bytes, sizeof(bytes));
	assert_true(leaves(0x20, NULL));
	assert_caller(5, CALLER + 4);
	begin_test(by_frame, sizeof(by_frame)); /* rbp is SP + 32 */
	assert_true(leaves(0x20, NULL));
	assert_caller(3, CALLER + 2);
	begin_test(by_far, sizeof(by_far));
	assert_true(leaves(0x20, NULL));
	assert_caller(3, CALLER + 2);
}

static void test_a_handler_has_a_frame_of_its_own(void **state)
{
	static const uint8_t handler[] = { 1, 1, 1, 0, 1, RBP | PUSH };

	begin_test(usual, sizeof(usual));
	memcpy(code.unwind + HANDLER_INFO, handler, sizeof(handler));
	assert_true(leaves(HANDLER + 0x10, NULL));
	assert_caller(1, CALLER + 0);
	assert_true(leaves(HANDLER, NULL)); /* its call was the last instruction in front */
	assert_caller(6, CALLER + 5);
	assert_true(LEAVES_AT(HANDLER, 0x55));
	assert_caller(0, SP + 32);
}

static void test_what_is_not_known(void **state)
{
	static const uint8_t no_version[] = { 0, 0, 0, 0 }, other[] = { 1, 0, 1, 0, 0, 7 },
			     cut[] = { 1, 0, 1, 0, 0, ALLOC_LARGE },
			     saved[] = { 1, 0, 2, 0, 0, RBP | SAVE },
			     by_rbx[] = { 1, 0, 1, 3, 0, SET_FRAME },
			     down[] = {
				     1, 0, 3, 0, 0, 1 << 4 | ALLOC_LARGE, 0xf0, 0xff, 0xff, 0xff
			     };

	begin_test(no_version, sizeof(no_version));
	assert_false(leaves(0x20, NULL));
	assert_false(dotnet_code_is_described(&code));
	begin_test(other, sizeof(other));
	assert_false(leaves(0x20, NULL));
	begin_test(cut, sizeof(cut));
	assert_false(leaves(0x20, NULL));
	begin_test(saved, sizeof(saved));
	assert_false(leaves(0x20, NULL));
	begin_test(by_rbx, sizeof(by_rbx));
	assert_false(leaves(0x20, NULL));
	begin_test(down, sizeof(down));
	assert_false(leaves(0x20, NULL));
	begin_test(usual, sizeof(usual));
	assert_false(leaves(SIZE + 1, NULL));
	code.functions[1].unwind = RVA + SIZE + DOTNET_UNWIND_MAX;
	assert_false(leaves(HANDLER + 1, NULL));
	code.functions[1].unwind = RVA;
	assert_false(leaves(HANDLER + 1, NULL));
	stack.size = 6 * 8; /* without the return address */
	assert_false(leaves(0x20, NULL));
	code.n_functions = 0;
	assert_false(leaves(0x20, NULL));
}

/* What a sample has: the words of its stack that are in code, and what is executed. */
static struct {
	struct walk_list_head head;
	struct {
		struct walk_element element;
		struct walk_return window;
	} elements[4];
} walk;
static struct code_table codes;
static struct script_stack script;
static const struct wire_sample sample = {
	.process = PROCESS,
	.walk = { &walk, sizeof(walk) },
	.stack = { words, sizeof(words) },
};

static void put_element(size_t i, uint64_t address, uint64_t pc, uint64_t begin)
{
	walk.elements[i].element = (struct walk_element){ address, begin ? IDENTITY : 0 };
	walk.elements[i].window = (struct walk_return){ .pc = pc, .object = begin };
}

static void begin_walk(void)
{
	const struct wire_memory record = {
		.process = PROCESS,
		.address = BEGIN,
		.identity = IDENTITY,
		.number = 5,
		.bytes = { &code, sizeof(code) },
	};

	begin_test(usual, sizeof(usual));
	code_table_init(&codes);
	assert_int_equal(dotnet_code_trait(&record), 1);
	assert_int_equal(code_table_keep(&codes, &record, 1), 0);
	walk.head = (struct walk_list_head){ 0, sizeof(struct walk_return), 4, WIRE_walk_end_END };
	put_element(0, SP, 0x400000, 0);	      /* C, */
	put_element(1, SP + 8, BEGIN + 0x30, BEGIN);  /* which a method has called, */
	put_element(2, SP + 16, BEGIN + 0x40, BEGIN); /* an old word, */
	put_element(3, SP + 64, BEGIN + 0x50, BEGIN); /* and a method that has called that */
	words[8] = BEGIN + 0x50;
}

static struct dotnet_calls open_calls(void)
{
	const struct made_code_context context = { .codes = &codes };

	return dotnet_calls_of(&context, &sample, SP);
}

static void test_callers_are_words_of_the_stack(void **state)
{
	struct dotnet_calls calls;
	struct made_caller frame = { BEGIN + 0x30, SP + 16, 0 };

	begin_walk();
	calls = open_calls();
	assert_false(dotnet_calls_have(&calls, 0x400000, SP));
	assert_true(dotnet_calls_have(&calls, frame.pc, frame.sp));
	assert_true(dotnet_calls_find(&calls, &frame, &caller));
	assert_int_equal(caller.pc, BEGIN + 0x50);
	assert_int_equal(caller.sp, SP + 72);
	assert_true(dotnet_calls_have(&calls, caller.pc, caller.sp));
	assert_false(dotnet_calls_have(&calls, caller.pc, caller.sp + 8));
	code_table_deinit(&codes);
}

static void test_other_frames_have_no_method(void **state)
{
	struct dotnet_calls calls;
	const struct made_caller other = { BEGIN + 0x31, SP + 16, 0 },
				 elsewhere = { BEGIN + 0x30, SP + 24, 0 };

	begin_walk();
	calls = open_calls();
	assert_false(dotnet_calls_find(&calls, &other, &caller));
	calls = open_calls();
	assert_false(dotnet_calls_find(&calls, &elsewhere, &caller));
	walk.head.window = 8;
	calls = open_calls();
	assert_false(dotnet_calls_have(&calls, BEGIN + 0x30, SP + 16));
	code_table_deinit(&codes);
}

/* Code between two methods has no frame, if its return address is on top of the stack. */
static void test_a_stub_returns_to_a_method(void **state)
{
	struct dotnet_calls calls;
	struct made_caller frame = { 0x400000, SP, SP + 32 };

	begin_walk();
	calls = open_calls();
	assert_false(dotnet_calls_find(&calls, &frame, &caller));
	put_element(1, SP, BEGIN + 0x30, BEGIN);
	calls = open_calls();
	assert_true(dotnet_calls_find(&calls, &frame, &caller));
	assert_int_equal(caller.pc, BEGIN + 0x30);
	assert_int_equal(caller.sp, SP + 8);
	assert_int_equal(caller.fp, SP + 32);
	code_table_deinit(&codes);
}

static void test_each_word_may_have_a_method(void **state)
{
	begin_walk();
	assert_int_equal(dotnet_walk_read(&codes, &sample, &script), SCRIPT_WHOLE);
	assert_int_equal(script.n_segments, 3);
	assert_int_equal(script.segments[0].anchor, SP + 16);
	assert_int_equal(script.segments[0].instruction, BEGIN + 0x30);
	assert_int_equal(script_place_number(script.places[2]), 5);
	for (size_t i = 1; i < 4; i++)
		walk.elements[i].element.identity++;
	assert_int_equal(dotnet_walk_read(&codes, &sample, &script), SCRIPT_NO_FRAMES);
	walk.head.window = 8;
	assert_int_not_equal(dotnet_walk_read(&codes, &sample, &script), SCRIPT_WHOLE);
	code_table_deinit(&codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_frame_that_has_called),
		cmocka_unit_test(test_a_frame_that_is_being_made),
		cmocka_unit_test(test_a_frame_that_is_given_back),
		cmocka_unit_test(test_a_jump_at_the_end),
		cmocka_unit_test(test_large_frames),
		cmocka_unit_test(test_a_handler_has_a_frame_of_its_own),
		cmocka_unit_test(test_what_is_not_known),
		cmocka_unit_test(test_callers_are_words_of_the_stack),
		cmocka_unit_test(test_other_frames_have_no_method),
		cmocka_unit_test(test_a_stub_returns_to_a_method),
		cmocka_unit_test(test_each_word_may_have_a_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
