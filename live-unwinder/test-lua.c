/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of Lua become frames inside of the activations that execute them, or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "live-unwinder/script/lua-walk.h"
#include "live-unwinder/test-activations.h"

enum {
	PROCESS = 7,
	IDENTITY = 99,
	WINDOW = 72,
	STATUS = 60,
	/* What calls are. */
	OF_C_BIT = 17,
	FRESH_BIT = 18,
	OF_C = 1 << OF_C_BIT,
	FRESH = 1 << FRESH_BIT,
	/* Functions. */
	N_FUNCTIONS = 3,
	N_CODE = 50,
	FUNCTIONS = 0x100000,
	STEP = 0x1000,
	CODE_AT = 8,
	COUNT_AT = 16,
	CALLS = 0x900000,
	LOOPS = 1 << 1 | 1 << 3, /* frames of C that are of the loop */
};

static const struct lua_fields fields = {
	.call_proto = 64,
	.call_next = 24,
	.call_pc = 32,
	.call_status = STATUS,
	.call_c = OF_C_BIT,
	.call_fresh = FRESH_BIT,
	.proto_code = CODE_AT,
	.proto_count = COUNT_AT,
};

static struct code_table codes;
static struct script_stack stack;

static uint64_t address_of(int i)
{
	return CALLS + i * STEP;
}

static uint64_t code_of(int function)
{
	return 0x555500000000 + function * STEP;
}

/* Adds a call of a function, of which so many instructions were executed; 0: of a function of C. */
static void add_call(int function, uint32_t status, uint64_t n)
{
	uint64_t window[WINDOW / 8] = {
		[3] = address_of(test_walk.n - 1),
		[4] = function ? code_of(function) + n * 4 : 0,
		[8] = function ? FUNCTIONS + function * STEP : 0,
	};

	memcpy((char *)window + STATUS, &status, sizeof(status));
	test_walk_add(address_of(test_walk.n), function ? IDENTITY : 0, window);
}

/* A function that another has called, which sort() calls for one; and that is called by C. */
static void make_walk(void)
{
	test_walk_begin(WINDOW);
	add_call(1, 0, 5);
	add_call(2, FRESH, 9);
	add_call(0, OF_C, 0);
	add_call(3, FRESH, 2);
	add_call(0, OF_C, 0);
}

/* Appends the same walk as that of another coroutine. */
static enum script_outcome read_twice(void)
{
	static char bytes[2 * sizeof(test_walk.bytes)];
	struct wire_sample *sample = &test_c.sample;
	const uint16_t number = 1;

	test_walk_end(WIRE_walk_end_END);
	memcpy(bytes, test_walk.bytes, test_walk.size);
	memcpy(bytes + test_walk.size, test_walk.bytes, test_walk.size);
	memcpy(bytes + test_walk.size, &number, sizeof(number));
	sample->walk = (struct wire_blob){ bytes, 2 * test_walk.size };
	return lua_walk_read(&fields, &codes, sample, &stack);
}

static enum script_outcome read_walk(void)
{
	return lua_walk_read(&fields, &codes, test_walk_end(WIRE_walk_end_END), &stack);
}

static enum script_outcome merge(void)
{
	stack.language = SCRIPT_LUA;
	return script_merge(&stack, &test_loop, TEST_MAPPING, &test_c.unwinding);
}

static int set_up(void **state)
{
	code_table_init(&codes);
	for (uint64_t i = 1; i <= N_FUNCTIONS; i++) {
		const uint64_t function[] = { 0, code_of(i), N_CODE };
		const struct wire_memory record = {
			.process = PROCESS,
			.address = FUNCTIONS + i * STEP,
			.identity = IDENTITY,
			.number = i,
			.bytes = { (const char *)function, sizeof(function) },
		};

		assert_int_equal(code_table_add(&codes, &record, lua_code_begin(&fields, &record)),
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

static void test_segments_end_with_fresh_calls(void **state)
{
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.n, 3);
	assert_int_equal(stack.places[0], script_place(1, SCRIPT_INSTRUCTION_UNKNOWN));
	assert_int_equal(stack.places[1], script_place(2, 9));
	assert_int_equal(stack.places[2], script_place(3, 2));
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(stack.segments[0].n, 2);
	assert_int_equal(stack.segments[0].anchor, address_of(0));
	assert_int_equal(stack.segments[1].anchor, address_of(3));
}

/* What has called C has noted where it is. */
static void test_the_caller_of_c_has_a_line(void **state)
{
	test_walk_begin(WINDOW);
	add_call(0, OF_C, 0);
	add_call(3, FRESH, 2);
	add_call(0, OF_C, 0);
	assert_int_equal(read_walk(), SCRIPT_WHOLE);
	assert_int_equal(stack.places[0], script_place(3, 2));
}

static void test_calls_that_cannot_be(void **state)
{
	test_walk_begin(WINDOW);
	add_call(1, 0, 5);
	add_call(0, OF_C, 0); /* without a fresh call */
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_call(1, 0, 5);
	check_refused(SCRIPT_TORN);
	test_walk_begin(WINDOW);
	add_call(N_FUNCTIONS + 1, FRESH, 5);
	check_refused(SCRIPT_UNKNOWN);
	test_walk_begin(WINDOW);
	add_call(0, OF_C, 0);
	check_refused(SCRIPT_NO_FRAMES);
	make_walk();
	assert_int_equal(lua_walk_read(&fields, &codes, test_walk_end(WIRE_walk_end_LIMIT), &stack),
			 SCRIPT_LIMIT);
}

static void test_activations_hold_their_calls(void **state)
{
	test_c_put(1, 4, address_of(0));
	test_c_put(3, 4, address_of(3));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 3);
	assert_int_equal(test_c.frames[3].address, TEST_LOOP + 17);
	test_c_begin(PROCESS, LOOPS);
	test_c_put(1, 4, address_of(1)); /* it begins: this is its caller's */
	test_c_put(3, 4, address_of(3));
	read_walk();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	test_c_begin(PROCESS, LOOPS);
	test_c_put(1, 4, address_of(0));
	test_c_put(3, 4, address_of(4)); /* outer ones do not begin */
	read_walk();
	assert_int_equal(merge(), SCRIPT_UNPLACED);
}

/* If there are activations for it; else it does not run yet, or any more. */
static void test_what_has_resumed_a_coroutine(void **state)
{
	test_walk_begin(WINDOW);
	add_call(2, FRESH, 9);
	add_call(0, OF_C, 0);
	test_c_put(1, 4, address_of(0));
	test_c_put(3, 4, address_of(0));
	assert_int_equal(read_twice(), SCRIPT_WHOLE);
	assert_int_equal(stack.n_segments, 2);
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 2);
	test_c_begin(PROCESS, 1 << 3);
	test_c_put(3, 4, address_of(0));
	read_twice();
	assert_int_equal(merge(), SCRIPT_WHOLE);
	assert_int_equal(test_c.unwinding.n_frames, TEST_FRAMES + 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_segments_end_with_fresh_calls), TEST(test_the_caller_of_c_has_a_line),
		TEST(test_calls_that_cannot_be),	  TEST(test_activations_hold_their_calls),
		TEST(test_what_has_resumed_a_coroutine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
