/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CFI expressions, also of signal frames and PLTs: known forms become rules, others FALLBACK. */
#include "common/unwind/test-cfi-run.h"

/* A register can only be changed if the CFA is register plus offset. */
static void test_adjusting_an_expression_cfa_is_fallback(void **state)
{
	assert_int_equal(only(RUN(DW_CFA_def_cfa_expression, 3, 0x77, 8, DW_OP_deref,
				  DW_CFA_def_cfa_register, RSP))
				 .cfa,
			 UNWIND_CFA_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_def_cfa_expression, 3, 0x77, 8, DW_OP_deref,
				  DW_CFA_def_cfa_offset, 8))
				 .cfa,
			 UNWIND_CFA_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_def_cfa_expression, 3, 0x77, 8, DW_OP_deref,
				  DW_CFA_def_cfa_offset_sf, 8))
				 .cfa,
			 UNWIND_CFA_FALLBACK);
	assert_cfa(only(RUN(DW_CFA_def_cfa_expression, 3, 0x77, 8, DW_OP_deref, DW_CFA_def_cfa, RSP,
			    8)),
		   UNWIND_CFA_SP, 8);
}

static void test_computed_values_are_fallback(void **state)
{
	assert_int_equal(only(RUN(DW_CFA_val_offset, RBP, 2)).fp, UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_val_offset, RBP, 0)).fp, UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_val_offset_sf, RIP, 2)).return_address,
			 UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_val_expression, RBP, 2, 0x76, 0)).fp,
			 UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_val_expression, RIP, 2, 0x76, 0)).return_address,
			 UNWIND_VALUE_FALLBACK);
}

static void test_the_word_at_a_register_plus_a_number_is_known(void **state)
{
	assert_fp(only(RUN(DW_CFA_expression, RBP, 2, 0x76, 0)), UNWIND_VALUE_AT_FP, 0);
	assert_fp(only(RUN(DW_CFA_expression, RBP, 2, 0x77, 0x78)), UNWIND_VALUE_AT_SP, -8);
	assert_return_address(only(RUN(DW_CFA_expression, RIP, 3, 0x77, 0xa8, 1)),
			      UNWIND_VALUE_AT_SP, 168);
	assert_return_address(only(RUN(DW_CFA_expression, RIP, 2, 0x76, 8)), UNWIND_VALUE_AT_FP, 8);
	assert_return_address(only(RUN_AARCH64(DW_CFA_expression, X30, 2, 0x70 + SP, 8)),
			      UNWIND_VALUE_AT_SP, 8);
	assert_fp(only(RUN_AARCH64(DW_CFA_expression, X29, 2, 0x70 + X29, 8)), UNWIND_VALUE_AT_FP,
		  8);
}

static void test_other_register_expressions_are_fallback(void **state)
{
	static const struct {
		uint8_t bytes[6], size;
	} expressions[] = {
		{ { 0 }, 0 },				  /* empty */
		{ { 0x73, 8 }, 2 },			  /* rbx + 8 */
		{ { 0x77 }, 1 },			  /* rsp + …, truncated */
		{ { 0x77, 0x80 }, 2 },			  /* likewise */
		{ { 0x77, 8, DW_OP_deref }, 3 },	  /* one more load */
		{ { 0x77, 8, DW_OP_plus_uconst, 8 }, 4 }, /* one more operation */
		{ { DW_OP_bregx, 7, 8 }, 3 },
		{ { DW_OP_lit0 }, 1 },
	};

	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		uint8_t program[16] = { DW_CFA_expression, RBP, expressions[i].size };

		memcpy(program + 3, expressions[i].bytes, expressions[i].size);
		assert_int_equal(
			only(run(&(struct around){ 0 }, program, 3 + expressions[i].size)).fp,
			UNWIND_VALUE_FALLBACK);
		program[1] = RIP;
		assert_int_equal(only(run(&(struct around){ 0 }, program, 3 + expressions[i].size))
					 .return_address,
				 UNWIND_VALUE_FALLBACK);
	}
}

/* glibc's: the CFA is the saved rsp, and so is the rule of rsp. */
static void test_a_signal_frame_loads_all_from_the_stack(void **state)
{
	struct around around = { .common = { .augmentation = "zRS" } };
	struct unwind_rule rule =
		only(RUN_IN(&around, DW_CFA_def_cfa_expression, 4, 0x77, 0xa0, 1, DW_OP_deref,
			    DW_CFA_expression, RSP, 3, 0x77, 0xa0, 1, DW_CFA_expression, RIP, 3,
			    0x77, 0xa8, 1, DW_CFA_expression, RBP, 3, 0x77, 0xf8, 0));

	assert_cfa(rule, UNWIND_CFA_AT_SP, 160);
	assert_int_equal(rule.cfa_addend, 0);
	assert_return_address(rule, UNWIND_VALUE_AT_SP, 168);
	assert_fp(rule, UNWIND_VALUE_AT_SP, 120);
	assert_int_equal(rule.flags, UNWIND_FLAG_SIGNAL);
}

static void test_signal_frame_with_another_sp_is_fallback(void **state)
{
	struct around around = { .common = { .augmentation = "zRS", PROGRAM(0x90, 1) } };

	/* A word other than the CFA's, … */
	assert_fallback_from(RUN_IN(&around, DW_CFA_def_cfa_expression, 4, 0x77, 0xa0, 1,
				    DW_OP_deref, DW_CFA_expression, RSP, 3, 0x77, 0x98, 1),
			     0);
	/* … the same word, but the CFA adds to it, … */
	assert_fallback_from(RUN_IN(&around, DW_CFA_def_cfa_expression, 6, 0x77, 0xa0, 1,
				    DW_OP_deref, DW_OP_plus_uconst, 8, DW_CFA_expression, RSP, 3,
				    0x77, 0xa0, 1),
			     0);
	/* … or the same offset from another register. */
	assert_fallback_from(RUN_IN(&around, DW_CFA_def_cfa_expression, 4, 0x77, 0xa0, 1,
				    DW_OP_deref, DW_CFA_expression, RSP, 3, 0x76, 0xa0, 1),
			     0);
}

static void test_a_signal_frame_is_flagged_in_each_row(void **state)
{
	struct around around = { .common = { .augmentation = "zRS",
					     PROGRAM(0x0c, RSP, 8, 0x90, 1) } };
	struct rows rows = RUN_IN(&around, 0x44, 0x0e, 16);

	assert_int_equal(rows.n, 2);
	assert_int_equal(rows.list[0].rule.flags, UNWIND_FLAG_SIGNAL);
	assert_int_equal(rows.list[1].rule.flags, UNWIND_FLAG_SIGNAL);
}

/* ld's expression for PLT stubs; stub kinds differ in the position of the push. */
static void test_the_expression_of_a_plt_is_known(void **state)
{
	static const uint8_t limits[] = { 0, 6, 10, 11, 15 };

	for (size_t i = 0; i < sizeof(limits); i++) {
		struct unwind_rule rule = only(RUN(DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0,
						   DW_OP_lit15, DW_OP_and, DW_OP_lit0 + limits[i],
						   DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus));

		assert_cfa(rule, UNWIND_CFA_PLT, 8);
		assert_int_equal(rule.cfa_register, limits[i]);
		assert_int_equal(rule.cfa_addend, 0);
		assert_return_address(rule, UNWIND_VALUE_AT_CFA, -8);
	}
}

static void test_near_plt_expressions_are_fallback(void **state)
{
	static const uint8_t plt[] = { DW_CFA_def_cfa_expression,
				       11,
				       0x77,
				       8,
				       0x80,
				       0,
				       DW_OP_lit15,
				       DW_OP_and,
				       DW_OP_lit11,
				       DW_OP_ge,
				       DW_OP_lit3,
				       DW_OP_shl,
				       DW_OP_plus };
	struct around around = { 0 };

	assert_cfa(only(run(&around, plt, sizeof(plt))), UNWIND_CFA_PLT, 8);
	/* Changing any operation, or the number added to rip, makes it unknown. */
	for (size_t i = 2; i < sizeof(plt); i++) {
		uint8_t other[sizeof(plt)];

		if (i == 3) /* any offset from rsp is allowed */
			continue;
		memcpy(other, plt, sizeof(plt));
		other[i] ^= 0x40;
		assert_int_equal(only(run(&around, other, sizeof(plt))).cfa, UNWIND_CFA_FALLBACK);
	}
	/* One operation too few, one too many, and a limit beyond any byte of a stub. */
	assert_int_equal(only(RUN(DW_CFA_def_cfa_expression, 10, 0x77, 8, 0x80, 0, DW_OP_lit15,
				  DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl))
				 .cfa,
			 UNWIND_CFA_FALLBACK);
	assert_int_equal(
		only(RUN(DW_CFA_def_cfa_expression, 12, 0x77, 8, 0x80, 0, DW_OP_lit15, DW_OP_and,
			 DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus, DW_OP_nop))
			.cfa,
		UNWIND_CFA_FALLBACK);
	assert_int_equal(
		only(RUN(DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, DW_OP_lit15, DW_OP_and,
			 DW_OP_lit16, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus))
			.cfa,
		UNWIND_CFA_FALLBACK);
	/* rip's offset of zero in a longer encoding is still zero. */
	assert_cfa(only(RUN(DW_CFA_def_cfa_expression, 12, 0x77, 0x90, 1, 0x80, 0, DW_OP_lit15,
			    DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus)),
		   UNWIND_CFA_PLT, 144);
}

static void test_a_saved_cfa_is_loaded(void **state)
{
	struct unwind_rule rule = only(RUN(DW_CFA_def_cfa_expression, 3, 0x76, 0x78, DW_OP_deref));

	assert_cfa(rule, UNWIND_CFA_AT_FP, -8);
	assert_int_equal(rule.cfa_addend, 0);
	rule = only(RUN(DW_CFA_def_cfa_expression, 5, 0x77, 24, DW_OP_deref, DW_OP_plus_uconst, 8));
	assert_cfa(rule, UNWIND_CFA_AT_SP, 24);
	assert_int_equal(rule.cfa_addend, 8);
	assert_int_equal(rule.cfa_register, 0);
	rule = only(RUN(DW_CFA_def_cfa_expression, 6, 0x77, 0xf0, 0, DW_OP_deref, DW_OP_plus_uconst,
			56));
	assert_cfa(rule, UNWIND_CFA_AT_SP, 112);
	assert_int_equal(rule.cfa_addend, 56);
}

static void test_any_other_expression_of_a_cfa_is_fallback(void **state)
{
	static const struct {
		uint8_t bytes[12], size;
	} expressions[] = {
		{ { 0 }, 0 },
		{ { 0x77 }, 1 },
		{ { 0x77, 8 }, 2 },
		{ { 0x73, 8, DW_OP_deref }, 3 },
		{ { 0x77, 8, DW_OP_deref, DW_OP_deref }, 4 },
		{ { 0x77, 8, DW_OP_deref, DW_OP_plus_uconst }, 4 },
		{ { 0x77, 8, DW_OP_deref, DW_OP_plus_uconst, 0x80 }, 5 },
		{ { 0x77, 8, DW_OP_deref, DW_OP_plus_uconst, 8, DW_OP_nop }, 6 },
		{ { 0x77, 8, DW_OP_deref, DW_OP_lit8, DW_OP_plus }, 5 },
		/* An addend or offset of more than 31 bits. */
		{ { 0x77, 8, DW_OP_deref, DW_OP_plus_uconst, 0x80, 0x80, 0x80, 0x80, 8 }, 9 },
		{ { 0x77, 0x80, 0x80, 0x80, 0x80, 8, DW_OP_deref }, 7 },
	};

	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
		uint8_t program[16] = { DW_CFA_def_cfa_expression, expressions[i].size };
		struct unwind_rule rule;

		memcpy(program + 2, expressions[i].bytes, expressions[i].size);
		rule = only(run(&(struct around){ 0 }, program, 2 + expressions[i].size));
		assert_int_equal(rule.cfa, UNWIND_CFA_FALLBACK);
	}
}

/* Compilers emit none for aarch64, so none is supported. */
static void test_aarch64_cfa_expressions_are_fallback(void **state)
{
	assert_int_equal(
		only(RUN_AARCH64(DW_CFA_def_cfa_expression, 3, 0x70 + SP, 8, DW_OP_deref)).cfa,
		UNWIND_CFA_FALLBACK);
	assert_int_equal(only(RUN_AARCH64(DW_CFA_def_cfa_expression, 2, 0x70 + SP, 8)).cfa,
			 UNWIND_CFA_FALLBACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adjusting_an_expression_cfa_is_fallback),
		cmocka_unit_test(test_computed_values_are_fallback),
		cmocka_unit_test(test_the_word_at_a_register_plus_a_number_is_known),
		cmocka_unit_test(test_other_register_expressions_are_fallback),
		cmocka_unit_test(test_a_signal_frame_loads_all_from_the_stack),
		cmocka_unit_test(test_signal_frame_with_another_sp_is_fallback),
		cmocka_unit_test(test_a_signal_frame_is_flagged_in_each_row),
		cmocka_unit_test(test_the_expression_of_a_plt_is_known),
		cmocka_unit_test(test_near_plt_expressions_are_fallback),
		cmocka_unit_test(test_a_saved_cfa_is_loaded),
		cmocka_unit_test(test_any_other_expression_of_a_cfa_is_fallback),
		cmocka_unit_test(test_aarch64_cfa_expressions_are_fallback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
