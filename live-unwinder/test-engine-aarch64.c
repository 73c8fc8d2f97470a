/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AArch64 samples, which must be unwound on any machine. */
#include <elf.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "live-unwinder/engine-table.h"
#include "live-unwinder/test-world.h"

enum { X19 = 19, X29 = 29, X30 = 30, SP = 31, PC = 32 };
enum function {
	LEAF,	/* function entry: CFA = sp, return address in x30 */
	RECORD, /* after stp x29, x30, [sp, #-32]! */
	BY_FP,	/* the same with alloca(): CFA = x29 + 32 */
	BY_X19, /* CFA = x19 + 16, with the same record */
	BOTTOM, /* _start: x30 is undefined */
	SIGNAL, /* the kernel's frame */
	N_FUNCTIONS,
};

/* With data factor -8. */
#define RECORD_BELOW(n) DW_CFA_offset | X29, (n) / 8, DW_CFA_offset | X30, (n) / 8 - 1

static const struct made_function functions[N_FUNCTIONS] = {
	[LEAF] = { 0 },
	[RECORD] = { PROGRAM(DW_CFA_def_cfa_offset, 32, RECORD_BELOW(32)) },
	[BY_FP] = { PROGRAM(DW_CFA_def_cfa, X29, 32, RECORD_BELOW(32)) },
	[BY_X19] = { PROGRAM(DW_CFA_def_cfa, X19, 16, RECORD_BELOW(16)) },
	[BOTTOM] = { PROGRAM(DW_CFA_undefined, X30) },
	[SIGNAL] = { .has_no_description = true },
};

enum {
	IMAGE = 5,
	BASE = 0x10000000,
	FRAMES = 8,
	WORDS = 512,
};

static const uint64_t stack_start = 0xfffff0001000;
static const uint64_t signature = 0x2aULL << 48; /* of a return address (PAC) */

static struct world world;
static struct made image;
static struct process *process;
static struct engine_table *table;
static uint64_t stack[WORDS], registers[ARCH_REGISTERS_MAX];
static struct wire_sample sample;
static struct wire_frame frames[FRAMES];
static struct user_rules user_rules;
static struct unwinding answer;

static int set_up(void **state)
{
	const struct wire_hello hello = { .machine = EM_AARCH64 };

	world_init(&world, &hello, TABLE_STORE_WAIT);
	assert_int_equal(engine_table_new(&world.tables, &table), 0);
	image = made_elf(&arch_aarch64, functions, N_FUNCTIONS, 0);
	add_bytes(&world, IMAGE, image.bytes, image.n);
	process = add_process(&world, 1);
	add_mapping(&world, process, IMAGE, BASE, 0x3000, 0);
	memset(registers, 0, sizeof(registers));
	memset(stack, 0, sizeof(stack));
	return 0;
}

static int tear_down(void **state)
{
	table = engine_table_free(table);
	world_deinit(&world);
	made_deinit(&image);
	user_rules_deinit(&user_rules);
	return 0;
}

static uint64_t in(enum function function)
{
	return BASE + made_offset(function) + 8;
}

static uint64_t address_of_word(size_t i)
{
	return stack_start + i * sizeof(stack[0]);
}

/* Stores {x29, x30} at the bottom of a frame. */
static void put_record(size_t word, uint64_t fp, uint64_t return_address)
{
	stack[word] = fp;
	stack[word + 1] = return_address;
}

static void sample_at(uint64_t pc)
{
	registers[SP] = stack_start;
	registers[PC] = pc;
	sample = (struct wire_sample){
		.process = 1,
		.abi = 2,
		.registers = { registers, arch_aarch64.n_registers },
		.stack = { stack, sizeof(stack) },
	};
	answer = (struct unwinding){
		.arch = &arch_aarch64,
		.sample = &sample,
		.process = process,
		.frames = frames,
		.n_frames_max = FRAMES,
	};
}

static void assert_stack(enum wire_stack_end end, const uint64_t *addresses, size_t n)
{
	assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(frames[i].address, addresses[i]);
	assert_int_equal(answer.end, end);
}

#define ASSERT_STACK(end, ...)                                                                     \
	assert_stack(WIRE_stack_end_##end, (const uint64_t[]){ __VA_ARGS__ },                      \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void test_a_leaf_has_its_return_address_in_a_register(void **state)
{
	sample_at(in(LEAF));
	registers[X30] = in(BOTTOM);
	ASSERT_STACK(COMPLETE, in(LEAF), in(BOTTOM));
}

static void test_records_lie_at_the_bottom_of_frames(void **state)
{
	sample_at(in(LEAF));
	registers[X30] = in(RECORD);
	put_record(0, address_of_word(4), in(RECORD));
	put_record(4, address_of_word(8), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(LEAF), in(RECORD), in(RECORD), in(BOTTOM));
	assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT);
	assert_int_equal(frames[1].flags, 0);
}

static void test_the_frame_pointer_is_x29(void **state)
{
	sample_at(in(RECORD));
	put_record(0, address_of_word(10), in(BY_FP));
	put_record(10, 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(RECORD), in(BY_FP), in(BOTTOM));
}

static void test_the_sampled_frame_has_all_its_registers(void **state)
{
	sample_at(in(BY_X19));
	registers[X19] = address_of_word(6);
	put_record(6, 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(BY_X19), in(BOTTOM));
}

/* Adds a rule for the kernel's signal frame, which no file describes. */
static void give_signal_frame(void)
{
	struct image *whose = image_table_find(&world.identity.images, IMAGE);
	uint64_t start = MADE_VADDR + made_offset(SIGNAL);
	struct user_rules_error error;
	char *text, id[FILE_ID_TEXT_SIZE];
	int n;

	assert_non_null(elf_cache_get(&world.files, whose));
	file_id_text(&whose->file_id, id);
	n = asprintf(&text,
		     "file-id:%s 0x%" PRIx64 "-0x%" PRIx64
		     " cfa=*(sp+560) ra=*(sp+568) fp=*(sp+544) signal",
		     id, start, start + MADE_FUNCTION);
	assert_true(n > 0);
	assert_int_equal(user_rules_parse(&unwind_aarch64, text, n, &user_rules, &error), 0);
	world.tables.user_rules = &user_rules;
}

static void test_an_interrupted_frame_has_all_registers(void **state)
{
	enum { AT = 312 / 8, MAIN = 100 };

	give_signal_frame();
	sample_at(in(SIGNAL));
	stack[AT + X19] = address_of_word(MAIN + 4);
	stack[AT + X30] = in(RECORD); /* the interrupted code's x30, not to be used */
	stack[AT + SP] = address_of_word(MAIN);
	stack[AT + PC] = in(BY_X19);
	put_record(MAIN + 4, 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(SIGNAL), in(BY_X19), in(BOTTOM));
	assert_int_equal(frames[1].flags, WIRE_frame_flags_EXACT);
}

static void test_return_addresses_lose_their_signature(void **state)
{
	sample_at(in(LEAF));
	registers[X30] = in(RECORD) | signature;
	put_record(0, 0, in(BOTTOM) | signature);
	ASSERT_STACK(COMPLETE, in(LEAF), in(RECORD), in(BOTTOM));
}

/* There is no fallback to elfutils, which can only unwind samples of its own machine. */
static void test_foreign_stacks_have_no_elfutils_fallback(void **state)
{
	sample_at(in(LEAF));
	registers[X30] = in(BY_X19);
	put_record(0, 0, in(BOTTOM));
	ASSERT_STACK(BAD_UNWIND_INFO, in(LEAF), in(BY_X19));
}

static void test_a_cut_stack_ends_truncated(void **state)
{
	sample_at(in(RECORD));
	sample.stack.size = 0;
	ASSERT_STACK(TRUNCATED, in(RECORD));
}

/* Only files of the recording machine's architecture belong to the stream. */
static void test_host_architecture_files_are_not_used(void **state)
{
	struct made other = made_elf(&arch_x86_64, functions, 1, 0);

	add_bytes(&world, IMAGE + 1, other.bytes, other.n);
	add_mapping(&world, process, IMAGE + 1, 2 * BASE, 0x2000, 0);
	sample_at(2 * BASE + made_offset(0) + 8);
	registers[X30] = in(BOTTOM);
	ASSERT_STACK(NO_UNWIND_INFO, 2 * BASE + made_offset(0) + 8);
	made_deinit(&other);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_leaf_has_its_return_address_in_a_register),
		TEST(test_records_lie_at_the_bottom_of_frames),
		TEST(test_the_frame_pointer_is_x29),
		TEST(test_the_sampled_frame_has_all_its_registers),
		TEST(test_an_interrupted_frame_has_all_registers),
		TEST(test_return_addresses_lose_their_signature),
		TEST(test_foreign_stacks_have_no_elfutils_fallback),
		TEST(test_a_cut_stack_ends_truncated),
		TEST(test_host_architecture_files_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
