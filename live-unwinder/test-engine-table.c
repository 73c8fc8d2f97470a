/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks made by hand, in code whose rules are made by hand. Whatever the tables answer, elfutils
 * must answer, too: each stack here is given to both.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "live-unwinder/engine-dwfl.h"
#include "live-unwinder/engine-table.h"
#include "live-unwinder/test-world.h"

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10, RETURN_ADDRESS = 16 }; /* DWARF's numbers */

/* What a function's first instruction has: the return address at the stack pointer. */
enum function {
	PLAIN,
	BOTTOM, /* has no caller */
	AFTER_BOTTOM,
	SP_16,	       /* rsp + 16 */
	FP,	       /* rbp + 16, the caller's rbp saved there */
	LATE,	       /* behind "pop %rbp": the caller's rbp is below the stack pointer */
	NO_FP,	       /* the caller's rbp is nowhere */
	FP_RBX,	       /* the caller's rbp is in rbx */
	BY_R10,	       /* r10 + 8 */
	AT_SP,	       /* the word at rsp + 8, + 16 */
	AT_FP,	       /* the word at rbp - 8 */
	PLT,	       /* 8 more from byte 10 of 16 on */
	REALIGNED,     /* the word at rbp - 8, the caller's rbp saved at rbp */
	LEAVING,       /* such a function behind its leave: rbp is the caller's */
	SIGNAL,	       /* as glibc's, in small: at rsp the CFA, the return address, rbp */
	KERNEL_SIGNAL, /* as the kernel's: rbp at 120, the CFA at 160, the return address at 168 */
	RA_RBX,	       /* the return address is in rbx */
	LOOP,	       /* takes nothing off the stack */
	FALLBACK,
	GAP, /* no unwind information */
	N_FUNCTIONS,
};

#define EXPRESSION_SP(offset) 0x77, offset
#define EXPRESSION_SP2(offset) 0x77, (((offset)&0x7f) | 0x80), (offset) >> 7 /* of 14 bits */
#define EXPRESSION_FP(offset) 0x76, offset
#define DEREF 0x06
#define PLUS_UCONST(number) 0x23, number

static const struct made_function functions[N_FUNCTIONS] = {
	[PLAIN] = { 0 },
	[BOTTOM] = { PROGRAM(DW_CFA_undefined, RETURN_ADDRESS) },
	[AFTER_BOTTOM] = { 0 },
	[SP_16] = { PROGRAM(DW_CFA_def_cfa_offset, 16) },
	[FP] = { PROGRAM(DW_CFA_def_cfa, RBP, 16, DW_CFA_offset | RBP, 2) },
	[LATE] = { PROGRAM(DW_CFA_offset | RBP, 2) },
	[NO_FP] = { PROGRAM(DW_CFA_undefined, RBP) },
	[FP_RBX] = { PROGRAM(DW_CFA_register, RBP, RBX) },
	[BY_R10] = { PROGRAM(DW_CFA_def_cfa, R10, 8) },
	[AT_SP] = { PROGRAM(DW_CFA_def_cfa_expression, 5, EXPRESSION_SP(8), DEREF,
			    PLUS_UCONST(16)) },
	[AT_FP] = { PROGRAM(DW_CFA_def_cfa_expression, 3, EXPRESSION_FP(0x78), DEREF) },
	[PLT] = { PROGRAM(DW_CFA_def_cfa_expression, 11, EXPRESSION_SP(8), 0x80, 0, 0x3f, 0x1a,
			  0x3a, 0x2a, 0x33, 0x24, 0x22) },
	[SIGNAL] = { PROGRAM(DW_CFA_def_cfa_expression, 3, EXPRESSION_SP(0), DEREF,
			     DW_CFA_expression, RSP, 2, EXPRESSION_SP(0), DW_CFA_expression,
			     RETURN_ADDRESS, 2, EXPRESSION_SP(8), DW_CFA_expression, RBP, 2,
			     EXPRESSION_SP(16)),
		     .augmentation = "zRS" },
	[REALIGNED] = { PROGRAM(DW_CFA_def_cfa_expression, 3, EXPRESSION_FP(0x78), DEREF,
				DW_CFA_expression, RBP, 2, EXPRESSION_FP(0)) },
	[LEAVING] = { PROGRAM(DW_CFA_def_cfa, R10, 0, DW_CFA_expression, RBP, 2,
			      EXPRESSION_FP(0)) },
	[KERNEL_SIGNAL] = { PROGRAM(DW_CFA_def_cfa_expression, 4, EXPRESSION_SP2(160), DEREF,
				    DW_CFA_expression, RSP, 3, EXPRESSION_SP2(160),
				    DW_CFA_expression, RETURN_ADDRESS, 3, EXPRESSION_SP2(168),
				    DW_CFA_expression, RBP, 3, EXPRESSION_SP2(120),
				    DW_CFA_expression, R10, 2, EXPRESSION_SP(56)),
			    .augmentation = "zRS" },
	[RA_RBX] = { PROGRAM(DW_CFA_register, RETURN_ADDRESS, RBX) },
	[LOOP] = { PROGRAM(DW_CFA_def_cfa_offset, 0, DW_CFA_offset | RETURN_ADDRESS, 0) },
	[FALLBACK] = { PROGRAM(DW_CFA_def_cfa_expression, 3, EXPRESSION_SP(8), 0x96) },
	[GAP] = { .has_no_description = true },
};

enum {
	IMAGE = 5,
	BASE = 0x10000000,	 /* where the image begins in a process */
	OTHER_BASE = 0x20000000, /* and in another one */
	FRAMES = 8,
	WORDS = 512, /* a page */
	NOWHERE = 0x1234,
};

static const uint64_t stack_start = 0x7ffd00001000;

static struct world world;
static struct made image;
static struct process *process;
static struct engine_table *table;
static struct engine_dwfl *dwfl;
static uint64_t stack[WORDS], registers[ARCH_REGISTERS_MAX];
static struct wire_sample sample;
static struct wire_frame frames[FRAMES], judge_frames[FRAMES];
static struct intervals intervals;
static struct unwinding answer;

static void forget_process(struct process *forgotten, void *arg)
{
	engine_dwfl_forget(dwfl, forgotten);
}

static void begin(const struct wire_hello *hello)
{
	world_init(&world, hello, TABLES_WAIT);
	world.identity.processes.forget = forget_process;
	assert_int_equal(engine_table_new(&world.tables, &table), 0);
	assert_int_equal(engine_dwfl_new(&world.files, arch_host.register_mask, &dwfl), 0);
	image = made_elf(functions, N_FUNCTIONS, MADE_VADDR + made_offset(GAP));
	add_bytes(&world, IMAGE, image.bytes, image.n);
	process = add_process(&world, 1);
	add_mapping(&world, process, IMAGE, BASE, 0x3000, 0);
	memset(registers, 0, sizeof(registers));
	answer = (struct unwinding){ .frames = frames, .n_frames_max = FRAMES };
}

static int set_up(void **state)
{
	begin(&(struct wire_hello){ 0 });
	return 0;
}

static int tear_down(void **state)
{
	table = engine_table_free(table);
	dwfl = engine_dwfl_free(dwfl);
	world.identity.processes.forget = NULL;
	world_deinit(&world);
	intervals_deinit(&intervals);
	intervals = (struct intervals){ 0 };
	made_deinit(&image);
	return 0;
}

/* Somewhere in a function; its first byte. */
static uint64_t start_of(enum function function)
{
	return BASE + made_offset(function);
}

static uint64_t in(enum function function)
{
	return start_of(function) + 5;
}

static uint64_t address_of_word(size_t i)
{
	return stack_start + i * sizeof(stack[0]);
}

static void set_register(size_t dwarf_number, uint64_t value)
{
	registers[arch_host.sample_index[dwarf_number]] = value;
}

static void sample_at(uint64_t pc, const uint64_t *words, size_t n)
{
	assert_true(n <= WORDS);
	if (n)
		memcpy(stack, words, n * sizeof(*words));
	set_register(RSP, stack_start);
	set_register(RETURN_ADDRESS, pc);
	sample = (struct wire_sample){
		.process = 1,
		.abi = 2,
		.registers = { registers, arch_host.n_registers },
		.stack = { stack, n * sizeof(*words) },
	};
}

/* A sample at a pc, with these words on its stack. */
#define SAMPLE(pc, ...)                                                                            \
	sample_at(pc, (const uint64_t[]){ __VA_ARGS__ },                                           \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* Unwinds; what comes from the caches is the same, and so is what elfutils says. */
static enum engine_table_outcome unwind_in(struct process *where)
{
	struct unwinding judge, again;
	enum engine_table_outcome outcome;

	answer.sample = &sample;
	answer.process = where;
	judge = again = answer;
	judge.frames = again.frames = judge_frames;
	outcome = engine_table_unwind(table, &answer);
	assert_int_equal(engine_table_unwind(table, &again), outcome);
	if (outcome != ENGINE_TABLE_OK)
		return outcome;
	assert_true(unwinding_is_same(&answer, &again));
	engine_dwfl_unwind(dwfl, &judge);
	assert_true(unwinding_is_confirmed(&answer, &judge));
	return ENGINE_TABLE_OK;
}

static enum engine_table_outcome unwind(void)
{
	return unwind_in(process);
}

static void assert_stack(enum wire_stack_end end, const uint64_t *addresses, size_t n)
{
	assert_int_equal(unwind(), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(frames[i].address, addresses[i]);
	assert_int_equal(answer.end, end);
}

/* The sample has these frames, and its stack such an end. */
#define ASSERT_STACK(end, ...)                                                                     \
	assert_stack(WIRE_stack_end_##end, (const uint64_t[]){ __VA_ARGS__ },                      \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static const struct image *made_image(void)
{
	return image_table_find(&world.identity.images, IMAGE);
}

static void test_by_the_stack_pointer(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	assert_null(answer.failed_image);
}

static void test_only_the_sampled_frame_is_exact(void **state)
{
	SAMPLE(in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(BOTTOM));
	assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT);
	assert_int_equal(frames[1].flags, 0);
}

static void test_by_the_frame_pointer(void **state)
{
	SAMPLE(in(FP), 0, address_of_word(4), in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(COMPLETE, in(FP), in(FP), in(BOTTOM));
}

static void test_by_a_register_of_the_sampled_frame(void **state)
{
	SAMPLE(in(BY_R10), 0, 0, in(BOTTOM));
	set_register(R10, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(BY_R10), in(BOTTOM));
}

static void test_a_register_of_another_frame_is_not_known(void **state)
{
	SAMPLE(in(PLAIN), in(BY_R10), 0, in(BOTTOM));
	set_register(R10, address_of_word(2));
	assert_int_equal(unwind(), ENGINE_TABLE_E_REGISTER);
}

static void test_by_a_cfa_that_was_saved_at_the_stack_pointer(void **state)
{
	SAMPLE(in(AT_SP), 0, address_of_word(2), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(AT_SP), in(BOTTOM));
}

static void test_by_a_cfa_that_was_saved_at_the_frame_pointer(void **state)
{
	SAMPLE(in(AT_FP), 0, address_of_word(4), 0, in(BOTTOM));
	set_register(RBP, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(AT_FP), in(BOTTOM));
}

static void test_a_saved_cfa_that_was_not_captured_is_cut(void **state)
{
	SAMPLE(in(AT_SP), 0);
	ASSERT_STACK(TRUNCATED, in(AT_SP));
	SAMPLE(in(AT_FP), 0);
	set_register(RBP, stack_start);
	ASSERT_STACK(TRUNCATED, in(AT_FP));
}

static void test_behind_a_saved_cfa_a_stack_may_be_cut(void **state)
{
	SAMPLE(in(AT_SP), 0, address_of_word(4));
	ASSERT_STACK(TRUNCATED, in(AT_SP));
}

static void test_a_saved_cfa_near_a_file_is_left_to_others(void **state)
{
	SAMPLE(in(AT_FP), 0);
	set_register(RBP, BASE + 0x2000);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_realigned_frame(void **state)
{
	SAMPLE(in(REALIGNED), 0, address_of_word(5), address_of_word(6), 0, in(FP), 0, 0,
	       in(BOTTOM));
	set_register(RBP, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(REALIGNED), in(FP), in(BOTTOM));
	assert_int_equal(answer.n_confirmable, 0);
}

static void test_a_realigned_frame_before_it_is_left(void **state)
{
	SAMPLE(in(LEAVING), 0, address_of_word(5), 0, in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(1));
	set_register(R10, address_of_word(4));
	ASSERT_STACK(COMPLETE, in(LEAVING), in(FP), in(BOTTOM));
	assert_int_equal(answer.n_confirmable, 0);
}

/* Unless the code was seen to pop it: elfutils takes the word there for it. */
static void test_a_realigned_frame_without_its_place_has_no_frame_pointer(void **state)
{
	SAMPLE(in(LEAVING), 0, in(FP), 0, address_of_word(6), in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(3));
	set_register(R10, address_of_word(2));
	ASSERT_STACK(BAD_UNWIND_INFO, in(LEAVING), in(FP));
	assert_int_equal(answer.n_confirmable, 1);
	assert_true(answer.is_overruled);
}

static void test_a_stub_has_pushed_nothing_before_its_limit(void **state)
{
	SAMPLE(start_of(PLT) + 0x19, in(BOTTOM), in(PLAIN));
	ASSERT_STACK(COMPLETE, start_of(PLT) + 0x19, in(BOTTOM));
}

static void test_a_stub_has_pushed_a_word_from_its_limit_on(void **state)
{
	SAMPLE(start_of(PLT) + 0x1a, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, start_of(PLT) + 0x1a, in(BOTTOM));
}

/* Called from it or not: a return address is compared as it is, not one less. */
static void test_a_stub_that_has_called_is_judged_by_its_return_address(void **state)
{
	SAMPLE(in(PLAIN), start_of(PLT) + MADE_BEHIND_LATE, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), start_of(PLT) + MADE_BEHIND_LATE, in(BOTTOM));
}

static void test_what_returns_behind_no_call_is_none_of_the_stack(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0, start_of(SP_16) + MADE_BEHIND_NONE, 0, in(BOTTOM));
	ASSERT_STACK(BAD_UNWIND_INFO, in(PLAIN), in(SP_16));
}

static void test_what_returns_to_a_function_has_no_caller(void **state)
{
	SAMPLE(in(PLAIN), start_of(PLAIN), in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), start_of(PLAIN));
	assert_int_equal(frames[1].flags, WIRE_frame_flags_EXACT);
	SAMPLE(in(PLAIN), start_of(BOTTOM), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), start_of(BOTTOM));
	assert_int_equal(frames[1].flags, WIRE_frame_flags_EXACT);
}

static void test_what_a_signal_interrupted_is_exact(void **state)
{
	SAMPLE(in(PLAIN), in(SIGNAL), address_of_word(5), in(FP), address_of_word(6), 0, 0, 0,
	       in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SIGNAL), in(FP), in(BOTTOM));
	assert_int_equal(frames[2].flags, WIRE_frame_flags_EXACT);
	assert_int_equal(frames[3].flags, 0);
}

/* One less would be in the function before, which has a caller. */
static void test_what_a_signal_interrupted_is_looked_up_where_it_is(void **state)
{
	SAMPLE(in(PLAIN), in(SIGNAL), address_of_word(4), start_of(BOTTOM), 0);
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SIGNAL), start_of(BOTTOM));
}

/* The last instruction was a call that never returns: behind it is another function. */
/* R10 is among what the kernel has saved. */
static void test_what_a_signal_interrupted_has_all_its_registers(void **state)
{
	enum { R10_AT = 56 / 8, RBP_AT = 120 / 8, RSP_AT = 160 / 8, RIP_AT = 168 / 8, MAIN = 24 };

	SAMPLE(in(KERNEL_SIGNAL), 0);
	sample.stack.size = WORDS * sizeof(*stack);
	memset(stack, 0, sizeof(stack));
	stack[R10_AT] = address_of_word(MAIN + 3);
	stack[RBP_AT] = NOWHERE;
	stack[RSP_AT] = address_of_word(MAIN);
	stack[RIP_AT] = in(BY_R10);
	stack[MAIN + 3] = in(BOTTOM);
	ASSERT_STACK(COMPLETE, in(KERNEL_SIGNAL), in(BY_R10), in(BOTTOM));
}

static void test_a_sample_that_is_older_than_the_content_of_a_file(void **state)
{
	struct image *written = image_table_find(&world.identity.images, IMAGE);
	struct image_table_entry *entry;
	struct unwinding judge;

	world.files.unix_time_ahead = 1;
	image_files_get(&world.files, written)->modified = 1001;
	entry = (struct image_table_entry *)tables_get(&world.tables, IMAGE);
	assert_int_equal(entry->not_before, 1000 + IMAGE_FILES_TICK_NS);
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	sample.time = entry->not_before;
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	sample.time--;
	assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 1);
	assert_int_equal(answer.frames[0].mapping, 0);
	assert_int_equal(answer.end, WIRE_stack_end_IMAGE_UNAVAILABLE);
	assert_ptr_equal(answer.failed_image, made_image());
	judge = answer;
	judge.frames = judge_frames;
	engine_dwfl_unwind(dwfl, &judge);
	assert_int_equal(judge.n_frames, 3);
	engine_table_cut(table, &judge);
	assert_true(unwinding_is_same(&answer, &judge));
	entry->not_before = sample.time + TABLES_WRITTEN_WITHIN_NS + 1; /* in the future */
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
}

/* What has no time, or one of all bits, is older than nothing. */
static void test_a_sample_of_any_time_of_a_file_that_was_not_written_to(void **state)
{
	static const uint64_t times[] = { 0, 1, TABLES_WRITTEN_WITHIN_NS, UINT64_MAX - 1,
					  UINT64_MAX };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
		sample.time = times[i];
		assert_int_equal(tables_get(&world.tables, IMAGE)->not_before, 0);
		ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	}
}

static void test_a_return_address_is_looked_up_at_its_call(void **state)
{
	SAMPLE(in(PLAIN), start_of(AFTER_BOTTOM), in(PLAIN));
	ASSERT_STACK(COMPLETE, in(PLAIN), start_of(AFTER_BOTTOM));
}

static void test_the_sampled_instruction_is_looked_up_where_it_is(void **state)
{
	SAMPLE(start_of(BOTTOM), in(PLAIN));
	ASSERT_STACK(COMPLETE, start_of(BOTTOM));
}

static void test_a_return_address_in_a_register(void **state)
{
	SAMPLE(in(RA_RBX), in(PLAIN));
	set_register(RBX, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(RA_RBX), in(BOTTOM));
}

static void test_a_return_address_in_a_register_of_another_frame_is_not_known(void **state)
{
	SAMPLE(in(PLAIN), in(RA_RBX));
	set_register(RBX, in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_E_REGISTER);
}

static void test_an_undefined_return_address_completes_an_empty_stack(void **state)
{
	sample_at(in(BOTTOM), NULL, 0);
	ASSERT_STACK(COMPLETE, in(BOTTOM));
}

static void test_a_frame_pointer_in_a_register(void **state)
{
	SAMPLE(in(FP_RBX), in(FP), 0, 0, in(BOTTOM));
	set_register(RBX, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(FP_RBX), in(FP), in(BOTTOM));
}

static void test_a_frame_pointer_in_a_register_of_another_frame_is_not_known(void **state)
{
	SAMPLE(in(PLAIN), in(FP_RBX), in(FP));
	assert_int_equal(unwind(), ENGINE_TABLE_E_REGISTER);
}

static void test_a_frame_pointer_below_the_capture_is_no_error(void **state)
{
	SAMPLE(in(LATE), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(LATE), in(SP_16), in(BOTTOM));
}

static void test_a_frame_pointer_below_the_capture_that_is_needed_is_cut(void **state)
{
	SAMPLE(in(LATE), in(FP), 0, in(BOTTOM), 0);
	set_register(RBP, address_of_word(1)); /* the function's own, not the caller's any more */
	ASSERT_STACK(TRUNCATED, in(LATE), in(FP));
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_an_undefined_frame_pointer_that_is_needed_is_cut(void **state)
{
	SAMPLE(in(NO_FP), in(FP), 0, in(BOTTOM), 0);
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(TRUNCATED, in(NO_FP), in(FP));
}

static void test_a_saved_cfa_at_an_unknown_frame_pointer_is_cut(void **state)
{
	SAMPLE(in(NO_FP), in(AT_FP), address_of_word(3), in(BOTTOM)); /* rbp is not the one */
	set_register(RBP, address_of_word(2));
	ASSERT_STACK(TRUNCATED, in(NO_FP), in(AT_FP));
}

static void test_a_stack_that_was_cut(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0);
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(SP_16));
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_a_stack_that_was_cut_within_a_word(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(BOTTOM));
	sample.stack.size -= 1;
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(PLAIN));
}

static void test_nothing_was_captured(void **state)
{
	sample_at(in(PLAIN), NULL, 0);
	ASSERT_STACK(TRUNCATED, in(PLAIN));
}

static void test_the_next_page_of_the_stack_was_not_there(void **state)
{
	uint64_t words[WORDS] = { [WORDS - 1] = in(SP_16) };

	sample_at(in(FP), words, WORDS);
	set_register(RBP, address_of_word(WORDS - 2));
	ASSERT_STACK(TRUNCATED, in(FP), in(SP_16));
	answer.stack_asked = sizeof(words); /* as many as were captured */
	ASSERT_STACK(TRUNCATED, in(FP), in(SP_16));
	answer.stack_asked = 2 * sizeof(words);
	ASSERT_STACK(STACK_ABSENT, in(FP), in(SP_16));
}

static void test_not_even_the_first_word_was_there(void **state)
{
	answer.stack_asked = 4096;
	sample_at(in(PLAIN), NULL, 0);
	ASSERT_STACK(STACK_ABSENT, in(PLAIN));
}

static void test_a_stack_that_ends_within_a_page_was_cut(void **state)
{
	answer.stack_asked = 4096;
	SAMPLE(in(PLAIN), in(SP_16), 0);
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(SP_16));
}

static void test_what_a_signal_has_interrupted_is_on_another_stack(void **state)
{
	uint64_t words[WORDS] = { [WORDS - 3] = address_of_word(WORDS), in(PLAIN), 0 };

	sample_at(in(FP), words, WORDS);
	stack[WORDS - 4] = in(SIGNAL);
	set_register(RBP, address_of_word(WORDS - 5));
	answer.stack_asked = 2 * sizeof(words);
	ASSERT_STACK(TRUNCATED, in(FP), in(SIGNAL), in(PLAIN));
}

/* As when a handler runs on a stack of its own: what it interrupted was not captured. */
static void test_the_stack_of_a_handler_is_not_the_one_it_interrupted(void **state)
{
	const uint64_t interrupted = stack_start + (1ULL << 40);

	add_image(&world, IMAGE + 1, WIRE_image_kind_ANONYMOUS, "//anon");
	add_mapping(&world, process, IMAGE + 1, 0xffffffffff600000, 0x1000, 0);
	SAMPLE(in(SIGNAL), interrupted, in(PLAIN), 0);
	ASSERT_STACK(TRUNCATED, in(SIGNAL), in(PLAIN));
}

/* What elfutils would read there may be the file's. */
static void test_a_stack_near_a_file_is_left_to_others(void **state)
{
	const uint64_t file = stack_start + (1ULL << 40);

	add_image(&world, IMAGE + 1, WIRE_image_kind_FILE, "/nowhere/file");
	add_mapping(&world, process, IMAGE + 1, file, 0x1000, 0);
	SAMPLE(in(SIGNAL), file - 0x2000, in(PLAIN), 0);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
	SAMPLE(in(SIGNAL), file + 0x2000, in(PLAIN), 0);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_return_address_at_no_user_address_is_left_to_others(void **state)
{
	SAMPLE(in(FP), in(BOTTOM));
	set_register(RBP, UINT64_MAX - 64);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_stack_pointer_that_is_no_user_address_is_left_to_others(void **state)
{
	sample_at(in(PLAIN), NULL, 0);
	set_register(RSP, UINT64_MAX - 63);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

/* elfutils would read on in the file, which tables know nothing of. */
static void test_a_return_address_in_a_file_is_left_to_others(void **state)
{
	SAMPLE(in(FP), in(BOTTOM));
	set_register(RBP, BASE + made_offset(N_FUNCTIONS) + 8);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_no_mapping_at_the_first_frame(void **state)
{
	SAMPLE(NOWHERE, in(BOTTOM));
	ASSERT_STACK(NO_MAPPING, NOWHERE);
	assert_int_equal(frames[0].mapping, 0);
	assert_null(answer.failed_image);
}

/* That address is no frame: who knows what it is. */
static void test_no_mapping_at_a_later_frame(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), NOWHERE, in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 2);
	assert_int_equal(answer.end, WIRE_stack_end_NO_MAPPING);
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_the_limit_of_frames(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	answer.n_frames_max = 3;
	ASSERT_STACK(FRAME_LIMIT, in(PLAIN), in(PLAIN), in(PLAIN));
	assert_null(answer.failed_image);
}

static void test_as_many_frames_as_there_may_be(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	answer.n_frames_max = 4;
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
}

static void test_no_progress_is_left_to_others(void **state)
{
	SAMPLE(in(LOOP), in(LOOP));
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

/* The same pc again and again, but the stack goes on. */
static void test_recursion_is_progress(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
}

static void test_a_return_address_of_zero_is_left_to_others(void **state)
{
	SAMPLE(in(PLAIN), 0, in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_rule_that_no_table_has_is_left_to_others(void **state)
{
	SAMPLE(in(PLAIN), in(FALLBACK), in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_E_RULE);
}

static void test_no_information(void **state)
{
	SAMPLE(in(PLAIN), in(GAP), in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), in(GAP));
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_where_the_kernel_starts_a_process_a_stack_is_complete(void **state)
{
	SAMPLE(in(PLAIN), in(GAP), 1, address_of_word(4), 0, 0);
	assert_int_equal(address_of_word(1) % 16, 8); /* not aligned: it is no such place */
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), in(GAP));
	SAMPLE(in(SP_16), 0, in(GAP), 1, address_of_word(6), 0, 0);
	ASSERT_STACK(COMPLETE, in(SP_16), in(GAP));
	assert_null(answer.failed_image);
}

/* A second image: at its own place, in a file or not. */
enum { SECOND = 6, SECOND_START = 0x30000000 };

static void test_memory_without_a_file(void **state)
{
	const struct image *anonymous =
		add_image(&world, SECOND, WIRE_image_kind_ANONYMOUS, "//anon");

	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), SECOND_START + 8);
	assert_ptr_equal(answer.failed_image, anonymous);
}

static void add_jit(void)
{
	add_image(&world, SECOND, WIRE_image_kind_ANONYMOUS, "//anon");
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
}

/* Two frames of it, called from code that has unwind information, by its stack pointer. */
static void test_memory_without_a_file_by_the_frame_pointer(void **state)
{
	add_jit();
	SAMPLE(SECOND_START + 8, 0, address_of_word(4), SECOND_START + 16, 0, 77, in(SP_16), 0,
	       in(BOTTOM));
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(UNPROVED, SECOND_START + 8, SECOND_START + 16, in(SP_16), in(BOTTOM));
	assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT | WIRE_frame_flags_FRAME_POINTER);
	assert_int_equal(frames[1].flags, WIRE_frame_flags_FRAME_POINTER);
	assert_int_equal(frames[2].flags, 0);
}

/* The frame pointer that the code left alone is its caller's. */
static void test_memory_without_a_file_gives_the_frame_pointer_back(void **state)
{
	add_jit();
	SAMPLE(SECOND_START + 8, address_of_word(3), in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(0));
	ASSERT_STACK(UNPROVED, SECOND_START + 8, in(FP), in(BOTTOM));
}

static void test_a_frame_pointer_that_leads_out_of_the_stack_or_to_no_code(void **state)
{
	const uint64_t wrong[] = { 0,
				   8,
				   address_of_word(1) + 1,
				   stack_start - 8,
				   address_of_word(3),
				   address_of_word(4),
				   UINT64_MAX - 7 };

	add_jit();
	SAMPLE(SECOND_START + 8, 0, address_of_word(3), NOWHERE, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_register(RBP, wrong[i]);
		ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8);
		assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT);
	}
	set_register(RBP, address_of_word(1)); /* the return address is none */
	ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8);
}

static void test_frame_pointers_that_go_down_lead_nowhere(void **state)
{
	add_jit();
	SAMPLE(SECOND_START + 8, 0, address_of_word(1), SECOND_START + 16, 0);
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8, SECOND_START + 16);
}

/* A person has a rule for a function. */
static void give(enum function function, const char *rule)
{
	const uint64_t start = MADE_VADDR + made_offset(function);
	struct intervals_error error;
	char id[FILE_ID_TEXT_SIZE];
	struct image *whose = image_table_find(&world.identity.images, IMAGE);
	char *text;
	int n;

	assert_non_null(image_files_get(&world.files, whose));
	file_id_text(&whose->file_id, id);
	n = asprintf(&text, "file-id:%s 0x%" PRIx64 "-0x%" PRIx64 " %s", id, start,
		     start + MADE_FUNCTION, rule);
	assert_true(n > 0);
	assert_int_equal(intervals_parse(&unwind_x86_64, text, n, &intervals, &error), 0);
	world.tables.intervals = &intervals;
}

static void test_a_rule_that_a_person_gave_where_there_is_none(void **state)
{
	give(GAP, "fp");
	set_register(RBP, address_of_word(1));
	SAMPLE(in(GAP), 0, address_of_word(6), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(GAP), in(SP_16), in(BOTTOM));
	assert_int_equal(answer.n_confirmable, 1);
	assert_true(answer.is_overruled);
}

static void test_a_rule_that_a_person_gave_is_believed_before_the_file(void **state)
{
	give(SP_16, "cfa=rsp+24 ra=cfa-8");
	SAMPLE(in(PLAIN), in(SP_16), in(PLAIN), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	assert_int_equal(answer.n_confirmable, 2);
}

static void test_a_person_may_say_that_there_is_no_caller(void **state)
{
	give(PLAIN, "end");
	SAMPLE(in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN));
}

static void test_what_only_elfutils_knows_ends_behind_a_rule_of_a_person(void **state)
{
	give(PLAIN, "cfa=rsp+8 ra=cfa-8");
	SAMPLE(in(PLAIN), in(FALLBACK), in(BOTTOM));
	ASSERT_STACK(BAD_UNWIND_INFO, in(PLAIN), in(FALLBACK));
}

static void test_elfutils_does_not_go_on_where_a_person_has_a_rule(void **state)
{
	give(SP_16, "cfa=rsp+24 ra=cfa-8");
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	answer.sample = &sample;
	answer.process = process;
	engine_dwfl_unwind(dwfl, &answer);
	assert_int_equal(answer.n_frames, 3);
	engine_table_cut(table, &answer);
	assert_int_equal(answer.n_frames, 2);
	assert_int_equal(answer.end, WIRE_stack_end_BAD_UNWIND_INFO);
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_elfutils_is_not_cut_elsewhere(void **state)
{
	give(AT_FP, "fp");
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	answer.sample = &sample;
	answer.process = process;
	engine_dwfl_unwind(dwfl, &answer);
	engine_table_cut(table, &answer);
	assert_int_equal(answer.n_frames, 3);
	assert_int_equal(answer.end, WIRE_stack_end_COMPLETE);
}

static void test_a_file_that_is_not_there(void **state)
{
	const struct image *gone =
		add_image(&world, SECOND, WIRE_image_kind_FILE, "/no-such-directory/no-such-file");

	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(IMAGE_UNAVAILABLE, in(PLAIN), SECOND_START + 8);
	assert_ptr_equal(answer.failed_image, gone);
}

static void test_an_image_that_is_no_elf_file(void **state)
{
	const struct image *other = add_bytes(&world, SECOND, "#!/bin/sh\n", 10);

	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), SECOND_START + 8);
	assert_ptr_equal(answer.failed_image, other);
}

static void test_an_image_that_the_stream_has_not_told(void **state)
{
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_MAPPING, in(PLAIN), SECOND_START + 8);
	assert_null(answer.failed_image);
}

static void test_a_sample_in_memory_without_a_file_is_one_frame(void **state)
{
	add_image(&world, SECOND, WIRE_image_kind_ANONYMOUS, "//anon");
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8);
}

/* What the image server found has not come yet: not to be remembered as a failure. */
static void test_an_image_that_is_undecided_is_asked_for_again(void **state)
{
	struct wire_image_state gone = { SECOND, WIRE_image_status_GONE, 0, 0 };

	tear_down(NULL);
	begin(&(struct wire_hello){ .image_server = "stackpipe-no-such-server" });
	add_image(&world, SECOND, WIRE_image_kind_FILE, "/no-such-directory/no-such-file");
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8);
	assert_int_equal(unwind(), ENGINE_TABLE_E_PENDING);
	image_table_set_state(&world.identity.images, &gone);
	ASSERT_STACK(IMAGE_UNAVAILABLE, in(PLAIN), SECOND_START + 8);
}

static uint64_t second_in(enum function function)
{
	return SECOND_START + made_offset(function) + 5;
}

static void test_several_images_in_one_stack(void **state)
{
	uint32_t number;

	add_bytes(&world, SECOND, image.bytes, image.n);
	number = add_mapping(&world, process, SECOND, SECOND_START, 0x3000, 0);
	SAMPLE(in(PLAIN), second_in(SP_16), 0, in(SP_16), 0, second_in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), second_in(SP_16), in(SP_16), second_in(BOTTOM));
	assert_int_equal(frames[1].mapping, number);
	assert_int_equal(frames[2].mapping, number - 1);
}

/* A mapping that begins in the middle of its file: places are the file's. */
static void test_several_mappings_of_one_image(void **state)
{
	const uint64_t cut = made_offset(SP_16);
	uint32_t number = add_mapping(&world, process, IMAGE, BASE + cut, 0x1000, cut);

	SAMPLE(in(PLAIN), in(SP_16), 0, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(PLAIN), in(BOTTOM));
	assert_int_equal(frames[1].mapping, number);
	assert_int_equal(frames[2].mapping, number - 1);
}

/* By now all rules are known from the first one. */
static void test_another_process_shares_rules_but_no_addresses(void **state)
{
	const uint64_t distance = OTHER_BASE - BASE;
	struct process *other = add_process(&world, 2);

	add_mapping(&world, other, IMAGE, OTHER_BASE, 0x3000, 0);
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	SAMPLE(in(PLAIN) + distance, in(SP_16) + distance, 0, in(BOTTOM) + distance);
	assert_int_equal(unwind_in(other), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 3);
	assert_int_equal(answer.end, WIRE_stack_end_COMPLETE);
	assert_int_equal(unwind_in(process), ENGINE_TABLE_OK);
	assert_int_equal(answer.end, WIRE_stack_end_NO_MAPPING);
}

enum { MANY = 1000 }; /* functions: more places than rules are remembered */

/* An image of many functions, none of which has a caller. */
static void add_bottoms(uint64_t number)
{
	struct made_function bottoms[MANY];
	struct made elf;

	for (size_t i = 0; i < MANY; i++)
		bottoms[i] = functions[BOTTOM];
	elf = made_elf(bottoms, MANY, 0);
	add_bytes(&world, number, elf.bytes, elf.n);
	add_mapping(&world, process, number, SECOND_START, elf.n, 0);
	made_deinit(&elf);
}

static void test_images_that_share_a_slot_are_told_apart(void **state)
{
	add_bottoms(IMAGE + 4096);
	for (size_t i = 0; i < 3; i++) {
		SAMPLE(in(PLAIN), in(SP_16), 0, second_in(SP_16));
		ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), second_in(SP_16));
	}
}

static void test_places_that_share_a_slot_are_told_apart(void **state)
{
	add_bottoms(SECOND);
	for (size_t i = 0; i < MANY * MADE_FUNCTION; i++) {
		SAMPLE(SECOND_START + made_offset(0) + i, in(PLAIN));
		answer.sample = &sample;
		answer.process = process;
		assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
		assert_int_equal(answer.n_frames, 1);
	}
	SAMPLE(in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(BOTTOM));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_by_the_stack_pointer),
		TEST(test_only_the_sampled_frame_is_exact),
		TEST(test_by_the_frame_pointer),
		TEST(test_by_a_register_of_the_sampled_frame),
		TEST(test_a_register_of_another_frame_is_not_known),
		TEST(test_by_a_cfa_that_was_saved_at_the_stack_pointer),
		TEST(test_by_a_cfa_that_was_saved_at_the_frame_pointer),
		TEST(test_a_saved_cfa_that_was_not_captured_is_cut),
		TEST(test_behind_a_saved_cfa_a_stack_may_be_cut),
		TEST(test_a_saved_cfa_near_a_file_is_left_to_others),
		TEST(test_a_realigned_frame),
		TEST(test_a_realigned_frame_before_it_is_left),
		TEST(test_a_realigned_frame_without_its_place_has_no_frame_pointer),
		TEST(test_a_stub_has_pushed_nothing_before_its_limit),
		TEST(test_a_stub_has_pushed_a_word_from_its_limit_on),
		TEST(test_a_stub_that_has_called_is_judged_by_its_return_address),
		TEST(test_what_returns_behind_no_call_is_none_of_the_stack),
		TEST(test_what_returns_to_a_function_has_no_caller),
		TEST(test_what_a_signal_interrupted_is_exact),
		TEST(test_what_a_signal_interrupted_is_looked_up_where_it_is),
		TEST(test_what_a_signal_interrupted_has_all_its_registers),
		TEST(test_a_sample_that_is_older_than_the_content_of_a_file),
		TEST(test_a_sample_of_any_time_of_a_file_that_was_not_written_to),
		TEST(test_a_return_address_is_looked_up_at_its_call),
		TEST(test_the_sampled_instruction_is_looked_up_where_it_is),
		TEST(test_a_return_address_in_a_register),
		TEST(test_a_return_address_in_a_register_of_another_frame_is_not_known),
		TEST(test_an_undefined_return_address_completes_an_empty_stack),
		TEST(test_a_frame_pointer_in_a_register),
		TEST(test_a_frame_pointer_in_a_register_of_another_frame_is_not_known),
		TEST(test_a_frame_pointer_below_the_capture_is_no_error),
		TEST(test_a_frame_pointer_below_the_capture_that_is_needed_is_cut),
		TEST(test_an_undefined_frame_pointer_that_is_needed_is_cut),
		TEST(test_a_saved_cfa_at_an_unknown_frame_pointer_is_cut),
		TEST(test_a_stack_that_was_cut),
		TEST(test_a_stack_that_was_cut_within_a_word),
		TEST(test_nothing_was_captured),
		TEST(test_the_next_page_of_the_stack_was_not_there),
		TEST(test_not_even_the_first_word_was_there),
		TEST(test_a_stack_that_ends_within_a_page_was_cut),
		TEST(test_what_a_signal_has_interrupted_is_on_another_stack),
		TEST(test_the_stack_of_a_handler_is_not_the_one_it_interrupted),
		TEST(test_a_stack_near_a_file_is_left_to_others),
		TEST(test_a_return_address_at_no_user_address_is_left_to_others),
		TEST(test_a_stack_pointer_that_is_no_user_address_is_left_to_others),
		TEST(test_a_return_address_in_a_file_is_left_to_others),
		TEST(test_no_mapping_at_the_first_frame),
		TEST(test_no_mapping_at_a_later_frame),
		TEST(test_the_limit_of_frames),
		TEST(test_as_many_frames_as_there_may_be),
		TEST(test_no_progress_is_left_to_others),
		TEST(test_recursion_is_progress),
		TEST(test_a_return_address_of_zero_is_left_to_others),
		TEST(test_a_rule_that_no_table_has_is_left_to_others),
		TEST(test_no_information),
		TEST(test_where_the_kernel_starts_a_process_a_stack_is_complete),
		TEST(test_memory_without_a_file),
		TEST(test_memory_without_a_file_by_the_frame_pointer),
		TEST(test_memory_without_a_file_gives_the_frame_pointer_back),
		TEST(test_a_frame_pointer_that_leads_out_of_the_stack_or_to_no_code),
		TEST(test_frame_pointers_that_go_down_lead_nowhere),
		TEST(test_a_rule_that_a_person_gave_where_there_is_none),
		TEST(test_a_rule_that_a_person_gave_is_believed_before_the_file),
		TEST(test_a_person_may_say_that_there_is_no_caller),
		TEST(test_what_only_elfutils_knows_ends_behind_a_rule_of_a_person),
		TEST(test_elfutils_does_not_go_on_where_a_person_has_a_rule),
		TEST(test_elfutils_is_not_cut_elsewhere),
		TEST(test_a_file_that_is_not_there),
		TEST(test_an_image_that_is_no_elf_file),
		TEST(test_an_image_that_the_stream_has_not_told),
		TEST(test_a_sample_in_memory_without_a_file_is_one_frame),
		TEST(test_an_image_that_is_undecided_is_asked_for_again),
		TEST(test_several_images_in_one_stack),
		TEST(test_several_mappings_of_one_image),
		TEST(test_another_process_shares_rules_but_no_addresses),
		TEST(test_images_that_share_a_slot_are_told_apart),
		TEST(test_places_that_share_a_slot_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
