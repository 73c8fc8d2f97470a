/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frame records of code without unwind information that was called from a file's code. */
#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "live-unwinder/frame-record.h"
#include "live-unwinder/test-world.h"

enum { RBP = 6 };

/* Functions by their unwind information. */
enum function {
	SP_8,  /* return address at the stack pointer */
	SP_24, /* return address 16 bytes above it */
	BY_FP, /* keeps a frame pointer */
	OUTERMOST,
	N_FUNCTIONS,
};

static const struct made_function functions[N_FUNCTIONS] = {
	[SP_8] = { 0 },
	[SP_24] = { PROGRAM(DW_CFA_def_cfa_offset, 24) },
	[BY_FP] = { PROGRAM(DW_CFA_def_cfa, RBP, 16, DW_CFA_offset | RBP, 2) },
	[OUTERMOST] = { PROGRAM(DW_CFA_undefined, 16) },
};

enum {
	FILE_IMAGE = 5,
	BASE = 0x10000000,
	CODE_IMAGE = 6,
	CODE = 0x20000000, /* without a file */
	WORDS = 64,
	OTHER = 0x1234,
};

static const uint64_t stack_start = 0x7ffd00001000;

static struct world world;
static struct made file;
static struct process *process;
static struct rule_cache cache;
static uint64_t stack[WORDS], registers[ARCH_REGISTERS_MAX];
static struct frame_record record;

static int set_up(void **state)
{
	world_init(&world, &(struct wire_hello){ 0 }, TABLE_STORE_WAIT);
	file = made_elf(arch_host(), functions, N_FUNCTIONS, 0);
	add_bytes(&world, FILE_IMAGE, file.bytes, file.n);
	add_image(&world, CODE_IMAGE, WIRE_image_kind_ANONYMOUS, "//anon");
	process = add_process(&world, 1);
	add_mapping(&world, process, FILE_IMAGE, BASE, 0x2000, 0);
	add_mapping(&world, process, CODE_IMAGE, CODE, 0x1000, 0);
	memset(&cache, 0, sizeof(cache));
	assert_int_equal(rule_cache_init(&cache, &world.tables), 0);
	return 0;
}

static int tear_down(void **state)
{
	rule_cache_deinit(&cache);
	world_deinit(&world);
	made_deinit(&file);
	return 0;
}

static uint64_t in(enum function function, size_t behind)
{
	return BASE + made_offset(function) + behind;
}

static uint64_t address_of_word(size_t i)
{
	return stack_start + i * sizeof(stack[0]);
}

static struct v8_builtins builtins; /* of no image */

/* Whether the frame pointer, at word `fp`, leads to a frame record of the code. */
static bool find(size_t fp, const uint64_t *words, size_t n)
{
	const struct wire_sample sample = {
		.process = 1,
		.registers = { registers, arch_host()->n_registers },
		.stack = { stack, n * sizeof(*words) },
	};
	const struct unwinding unwinding = { .arch = arch_host(),
					     .sample = &sample,
					     .process = process };

	memcpy(stack, words, n * sizeof(*words));
	registers[arch_host()->sample_index[arch_host()->sp]] = stack_start;
	return frame_record_find(&unwinding, &cache, stack_start, address_of_word(fp), &record);
}

#define FIND(fp, ...)                                                                              \
	find(fp, (const uint64_t[]){ __VA_ARGS__ },                                                \
	     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void test_a_record_is_found(void **state)
{
	assert_true(FIND(1, OTHER, 77, in(SP_8, MADE_BEHIND_CALL)));
	assert_int_equal(record.at, address_of_word(1));
	assert_int_equal(record.fp, 77);
	assert_int_equal(record.pc, in(SP_8, MADE_BEHIND_CALL));
	assert_true(FIND(1, OTHER, 77, in(SP_8, MADE_BEHIND_INDIRECT)));
	assert_true(FIND(1, OTHER, 77, CODE + 99)); /* its bytes are unknown */
}

static void test_a_return_address_needs_a_preceding_call(void **state)
{
	assert_false(FIND(1, OTHER, 77, in(SP_8, MADE_BEHIND_NONE)));
	assert_false(FIND(1, OTHER, 77, OTHER));
}

/* 0: the code's caller; 1: the caller of that; 2: a record of that frame or another. */
static void test_a_record_above_another_frame_is_not_the_codes(void **state)
{
	const uint64_t above = in(OUTERMOST, MADE_BEHIND_CALL);

	assert_false(
		FIND(2, in(SP_8, MADE_BEHIND_INDIRECT), in(SP_8, MADE_BEHIND_CALL), 77, above));
	assert_false(FIND(2, in(OUTERMOST, MADE_BEHIND_INDIRECT), OTHER, 77, above));
	assert_false(FIND(3, OTHER, in(SP_8, MADE_BEHIND_INDIRECT), in(SP_8, MADE_BEHIND_CALL), 77,
			  above));
}

static void test_a_record_inside_a_frame_is_no_frame_record(void **state)
{
	assert_false(FIND(1, in(SP_24, MADE_BEHIND_INDIRECT), 77, in(SP_8, MADE_BEHIND_CALL),
			  in(OUTERMOST, MADE_BEHIND_CALL)));
	assert_false(FIND(1, in(BY_FP, MADE_BEHIND_INDIRECT), 77, in(OUTERMOST, MADE_BEHIND_CALL)));
}

/* Stale words of earlier frames. */
static void test_stale_words_are_no_frame_record(void **state)
{
	const uint64_t above = in(OUTERMOST, MADE_BEHIND_CALL);

	assert_true(FIND(2, in(SP_8, MADE_BEHIND_INDIRECT), OTHER, 77, above));
	assert_true(FIND(2, in(SP_8, MADE_BEHIND_INDIRECT), in(SP_8, MADE_BEHIND_NONE), 77, above));
	assert_true(FIND(2, in(SP_8, MADE_BEHIND_CALL), in(SP_8, MADE_BEHIND_CALL), 77, above));
	assert_true(FIND(2, in(SP_8, MADE_BEHIND_NONE), in(SP_8, MADE_BEHIND_CALL), 77, above));
}

static bool find_unmade(uint64_t fp, const uint64_t *words, size_t n)
{
	const struct wire_sample sample = {
		.process = 1,
		.registers = { registers, arch_host()->n_registers },
		.stack = { stack, n * sizeof(*words) },
	};
	const struct unwinding unwinding = { .arch = arch_host(),
					     .sample = &sample,
					     .process = process };

	memcpy(stack, words, n * sizeof(*words));
	registers[arch_host()->sample_index[arch_host()->sp]] = stack_start;
	return frame_record_find_unmade(&unwinding, &cache, &builtins, stack_start, fp, &record);
}

#define FIND_UNMADE(fp, ...)                                                                       \
	find_unmade(fp, (const uint64_t[]){ __VA_ARGS__ },                                         \
		    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void test_a_record_not_yet_pushed_is_found(void **state)
{
	const uint64_t callers = address_of_word(9);

	assert_true(FIND_UNMADE(callers, CODE + 99, OTHER)); /* nothing pushed yet */
	assert_int_equal(record.pc, CODE + 99);
	assert_int_equal(record.fp, callers);
	assert_int_equal(record.at + arch_host()->frame_record_size, address_of_word(1));
	assert_true(FIND_UNMADE(callers, callers, CODE + 99)); /* frame pointer pushed */
	assert_int_equal(record.pc, CODE + 99);
	assert_int_equal(record.fp, callers);
	assert_int_equal(record.at + arch_host()->frame_record_size, address_of_word(2));
}

static void test_a_complete_record_is_not_unmade(void **state)
{
	assert_false(FIND_UNMADE(stack_start, CODE + 99, CODE + 88));
	assert_false(FIND_UNMADE(address_of_word(9), OTHER, CODE + 99));
	assert_false(FIND_UNMADE(address_of_word(9), in(SP_8, MADE_BEHIND_CALL), CODE + 99));
	assert_false(FIND_UNMADE(address_of_word(9), address_of_word(9), OTHER));
	assert_false(FIND_UNMADE(address_of_word(9), 0, 0));
}

static bool find_call(uint64_t interpreter, const uint64_t *words, size_t n)
{
	const struct wire_sample sample = {
		.process = 1,
		.registers = { registers, arch_host()->n_registers },
		.stack = { stack, n * sizeof(*words) },
	};
	const struct unwinding unwinding = { .arch = arch_host(),
					     .sample = &sample,
					     .process = process,
					     .calls = { .interpreter = interpreter, .words = 4 } };

	memcpy(stack, words, n * sizeof(*words));
	registers[arch_host()->sample_index[arch_host()->sp]] = stack_start;
	return frame_record_find_call(&unwinding, &cache, stack_start, &record);
}

#define FIND_CALL(interpreter, ...)                                                                \
	find_call(interpreter, (const uint64_t[]){ __VA_ARGS__ },                                  \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void test_the_nearest_call_is_the_interpreters(void **state)
{
	const uint64_t call = in(SP_8, MADE_BEHIND_INDIRECT);

	assert_true(FIND_CALL(BASE, OTHER, CODE + 99, in(SP_8, MADE_BEHIND_NONE), call));
	assert_int_equal(record.at, address_of_word(3));
	assert_int_equal(record.pc, call);
	assert_false(FIND_CALL(BASE, OTHER, OTHER, OTHER, OTHER, call)); /* too far */
	assert_false(FIND_CALL(BASE, OTHER, OTHER));			 /* not captured */
	assert_false(FIND_CALL(BASE, OTHER, in(SP_8, MADE_BEHIND_CALL), call));
	assert_false(FIND_CALL(CODE, OTHER, call)); /* another file has called it */
	assert_false(FIND_CALL(OTHER, OTHER, call));
}

static bool find_rule(uint64_t loop, uint64_t fp, uint64_t more, const uint64_t *words, size_t n)
{
	const struct wire_sample sample = {
		.process = 1,
		.registers = { registers, arch_host()->n_registers },
		.stack = { stack, n * sizeof(*words) },
	};
	const struct unwinding unwinding = { .arch = arch_host(),
					     .sample = &sample,
					     .process = process,
					     .calls = { .interpreter = loop, .is_in_loop = true } };
	const struct unwind_rule *rule;

	memcpy(stack, words, n * sizeof(*words));
	registers[arch_host()->sample_index[arch_host()->sp]] = stack_start;
	return frame_record_find_rule(&unwinding, &cache, stack_start, fp, more, &rule);
}

#define FIND_RULE(loop, fp, more, ...)                                                             \
	find_rule(loop, fp, more, (const uint64_t[]){ __VA_ARGS__ },                               \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* Code that is executed in the frame of a function returns where that does. */
static void test_the_rule_of_the_loops_frame(void **state)
{
	const uint64_t loop = in(SP_24, 2), by_fp = in(BY_FP, 2),
		       call = in(SP_8, MADE_BEHIND_INDIRECT), direct = in(SP_8, MADE_BEHIND_CALL);

	assert_true(FIND_RULE(loop, 0, 0, OTHER, OTHER, call));
	assert_false(FIND_RULE(loop, 0, 0, OTHER, call, OTHER));
	assert_true(FIND_RULE(loop, 0, 16, OTHER, OTHER, OTHER, OTHER, call));
	assert_false(FIND_RULE(loop, 0, 0, OTHER, OTHER, direct));
	assert_false(FIND_RULE(loop, 0, 0, OTHER, OTHER)); /* not captured */
	assert_true(FIND_RULE(by_fp, address_of_word(2), 0, OTHER, OTHER, OTHER, call));
	assert_false(FIND_RULE(by_fp, address_of_word(1), 0, OTHER, OTHER, OTHER, call));
	assert_false(FIND_RULE(in(OUTERMOST, 2), 0, 0, OTHER, OTHER, call));
	assert_false(FIND_RULE(CODE, 0, 0, OTHER, OTHER, call)); /* it is in no file */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_record_is_found),
		TEST(test_a_return_address_needs_a_preceding_call),
		TEST(test_a_record_above_another_frame_is_not_the_codes),
		TEST(test_a_record_inside_a_frame_is_no_frame_record),
		TEST(test_stale_words_are_no_frame_record),
		TEST(test_a_record_not_yet_pushed_is_found),
		TEST(test_a_complete_record_is_not_unmade),
		TEST(test_the_nearest_call_is_the_interpreters),
		TEST(test_the_rule_of_the_loops_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
