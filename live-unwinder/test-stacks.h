/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: hand-made stacks in code with hand-made rules. Each stack is unwound by the tables and
 * by elfutils, which must agree.
 */
#pragma once

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

enum { RBX = 3, RBP = 6, RSP = 7, R10 = 10, RETURN_ADDRESS = 16 }; /* DWARF register numbers */

/* Functions by their rule after entry, where the return address is at the stack pointer. */
enum function {
	PLAIN,
	BOTTOM, /* has no caller */
	AFTER_BOTTOM,
	SP_16,	       /* rsp + 16 */
	FP,	       /* rbp + 16, the caller's rbp saved there */
	LATE,	       /* after "pop %rbp": the caller's rbp is below the stack pointer */
	NO_FP,	       /* the caller's rbp is undefined */
	FP_RBX,	       /* the caller's rbp is in rbx */
	BY_R10,	       /* r10 + 8 */
	AT_SP,	       /* the word at rsp + 8, + 16 */
	AT_FP,	       /* the word at rbp - 8 */
	PLT,	       /* 8 more from byte 10 of each 16-byte stub on */
	REALIGNED,     /* the word at rbp - 8, the caller's rbp saved at rbp */
	LEAVING,       /* a REALIGNED function after leave: rbp is the caller's */
	SIGNAL,	       /* a small version of glibc's: CFA, return address and rbp from rsp on */
	KERNEL_SIGNAL, /* the kernel's: rbp at 120, CFA at 160, return address at 168 */
	RA_RBX,	       /* the return address is in rbx */
	LOOP,	       /* pops nothing */
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
	OTHER_BASE = 0x20000000, /* in another process */
	FRAMES = 8,
	WORDS = 512, /* a page */
	WORD_PASSES = 3 * FRAMES,
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
static struct wire_frame frames[FRAMES], compare_frames[FRAMES];
static struct user_rules user_rules;
static struct unwinding answer;

static inline void forget_process(struct process *forgotten, void *arg)
{
	engine_dwfl_forget(dwfl, forgotten);
}

static inline void begin(const struct wire_hello *hello)
{
	world_init(&world, hello, TABLE_STORE_WAIT);
	world.identity.processes.forget = forget_process;
	assert_int_equal(engine_table_new(&world.tables, &table), 0);
	assert_int_equal(engine_dwfl_new(&world.files, &dwfl), 0);
	image = made_elf(arch_host(), functions, N_FUNCTIONS, MADE_VADDR + made_offset(GAP));
	add_bytes(&world, IMAGE, image.bytes, image.n);
	process = add_process(&world, 1);
	add_mapping(&world, process, IMAGE, BASE, 0x3000, 0);
	memset(registers, 0, sizeof(registers));
	answer =
		(struct unwinding){ .arch = arch_host(), .frames = frames, .n_frames_max = FRAMES };
}

static inline int set_up(void **state)
{
	begin(&(struct wire_hello){ 0 });
	return 0;
}

static inline int tear_down(void **state)
{
	table = engine_table_free(table);
	dwfl = engine_dwfl_free(dwfl);
	world.identity.processes.forget = NULL;
	world_deinit(&world);
	user_rules_deinit(&user_rules);
	user_rules = (struct user_rules){ 0 };
	made_deinit(&image);
	return 0;
}

/* The first byte of a function; in() is an address after its direct call. */
static inline uint64_t start_of(enum function function)
{
	return BASE + made_offset(function);
}

static inline uint64_t in(enum function function)
{
	return start_of(function) + 5;
}

static inline uint64_t address_of_word(size_t i)
{
	return stack_start + i * sizeof(stack[0]);
}

static inline void set_register(size_t dwarf_number, uint64_t value)
{
	registers[arch_host()->sample_index[dwarf_number]] = value;
}

static inline void sample_at(uint64_t pc, const uint64_t *words, size_t n)
{
	assert_true(n <= WORDS);
	if (n)
		memcpy(stack, words, n * sizeof(*words));
	set_register(RSP, stack_start);
	set_register(RETURN_ADDRESS, pc);
	sample = (struct wire_sample){
		.process = 1,
		.abi = 2,
		.registers = { registers, arch_host()->n_registers },
		.stack = { stack, n * sizeof(*words) },
	};
}

/* A sample at a pc with these words on its stack. */
#define SAMPLE(pc, ...)                                                                            \
	sample_at(pc, (const uint64_t[]){ __VA_ARGS__ },                                           \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* The words of the stack, so often that those of each step come behind those of the step before. */
static inline struct wire_words words_of_stack(void)
{
	static struct wire_stack_word words[WORDS * WORD_PASSES];
	size_t n = sample.stack.size / sizeof(stack[0]);

	for (size_t i = 0; i < n * WORD_PASSES; i++)
		words[i] = (struct wire_stack_word){ address_of_word(i % n), stack[i % n] };
	return (struct wire_words){ words, n * WORD_PASSES };
}

/* By words there is the same answer as by the stack, or a cut where it is not whole. */
static inline void check_words(const struct unwinding *by_stack, enum engine_table_outcome outcome)
{
	struct unwinding by_words = *by_stack;

	by_words.words = words_of_stack();
	by_words.frames = compare_frames;
	if (!by_words.words.n)
		return;
	assert_int_equal(engine_table_unwind(table, &by_words), ENGINE_TABLE_OK);
	assert_true(by_words.n_frames);
	if (outcome == ENGINE_TABLE_OK && by_stack->end != WIRE_stack_end_STACK_ABSENT &&
	    by_stack->end != WIRE_stack_end_TRUNCATED)
		assert_true(unwinding_is_same(&by_words, by_stack));
	else
		assert_true(by_words.end == WIRE_stack_end_IMAGE_UNAVAILABLE ||
			    (outcome == ENGINE_TABLE_OK && by_words.end == by_stack->end));
}

/* The same without the help of earlier walks. */
static inline void check_alone(const struct unwinding *answered, enum engine_table_outcome outcome)
{
	struct unwinding alone = *answered;

	alone.frames = compare_frames;
	alone.is_alone = true;
	assert_int_equal(engine_table_unwind(table, &alone), outcome);
	if (outcome != ENGINE_TABLE_OK)
		return;
	assert_true(unwinding_is_same(&alone, answered));
	assert_int_equal(alone.last_fp, answered->last_fp);
	assert_int_equal(alone.n_verifiable, answered->n_verifiable);
}

/* Unwinds twice; the cached result must be the same, and elfutils' result, too. */
static inline enum engine_table_outcome unwind_in(struct process *where)
{
	struct unwinding reference, again;
	enum engine_table_outcome outcome;

	answer.sample = &sample;
	answer.process = where;
	reference = again = answer;
	reference.frames = again.frames = compare_frames;
	outcome = engine_table_unwind(table, &answer);
	assert_int_equal(engine_table_unwind(table, &again), outcome);
	assert_true(outcome != ENGINE_TABLE_OK ||
		    (unwinding_is_same(&answer, &again) && answer.last_fp == again.last_fp));
	check_words(&answer, outcome);
	check_alone(&answer, outcome);
	if (outcome != ENGINE_TABLE_OK)
		return outcome;
	engine_dwfl_unwind(dwfl, &reference);
	assert_true(unwinding_is_confirmed(&answer, &reference));
	return ENGINE_TABLE_OK;
}

static inline enum engine_table_outcome unwind(void)
{
	return unwind_in(process);
}

static inline void assert_stack(enum wire_stack_end end, const uint64_t *addresses, size_t n)
{
	assert_int_equal(unwind(), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(frames[i].address, addresses[i]);
	assert_int_equal(answer.end, end);
}

/* Checks the frames and the end reason of the sample. */
#define ASSERT_STACK(end, ...)                                                                     \
	assert_stack(WIRE_stack_end_##end, (const uint64_t[]){ __VA_ARGS__ },                      \
		     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static inline const struct image *made_image(void)
{
	return image_table_find(&world.identity.images, IMAGE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
