/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CFI programs, instruction by instruction: the rules they produce, and from which address on. */
#include "common/unwind/test-cfi-run.h"

static void test_without_instructions_the_common_ones_hold(void **state)
{
	assert_initial(only(run(&(struct around){ 0 }, NULL, 0)));
	assert_initial(only(RUN(DW_CFA_nop, DW_CFA_nop)));
}

static void test_without_a_cfa_the_rule_is_fallback(void **state)
{
	struct around around = { .common = { .augmentation = "" } };

	assert_int_equal(only(RUN_IN(&around, DW_CFA_nop)).cfa, UNWIND_CFA_FALLBACK);
	around.arch = &unwind_aarch64;
	assert_int_equal(only(RUN_IN(&around, DW_CFA_nop)).cfa, UNWIND_CFA_FALLBACK);
}

/* On x86-64 it is on the stack at an unspecified place; on aarch64 it is in x30. */
static void test_the_default_return_address_rule_is_known(void **state)
{
	struct around around = { .common = { .augmentation = "", PROGRAM(0x0c, RSP, 8) } };

	assert_int_equal(only(RUN_IN(&around, DW_CFA_nop)).return_address, UNWIND_VALUE_FALLBACK);
	assert_return_address(only(RUN_AARCH64(DW_CFA_nop)), UNWIND_VALUE_SAME, 0);
}

/* Valid in x30 only; other registers are not tracked. */
static void test_a_return_address_in_a_register_is_kept_apart(void **state)
{
	struct around around = {
		.arch = &unwind_aarch64,
		.common = { .augmentation = "", .return_address = X19, PROGRAM(0x0c, SP, 0) }
	};

	assert_int_equal(only(RUN_IN(&around, DW_CFA_nop)).return_address, UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN_IN(&around, DW_CFA_same_value, X19)).return_address,
			 UNWIND_VALUE_FALLBACK);
}

static void test_advances_of_all_sizes_count_from_each_other(void **state)
{
	static const uint64_t expected[][2] = {
		{ 0, 8 },	  { 1, 16 },	       { 1 + 63, 24 },
		{ 64 + 255, 32 }, { 319 + 0x201, 40 }, { 832 + 0x10203, 48 }
	};
	struct rows rows =
		RUN(0x41, 0x0e, 16, 0x40 | 63, 0x0e, 24, DW_CFA_advance_loc1, 255, 0x0e, 32,
		    DW_CFA_advance_loc2, 1, 2, 0x0e, 40, DW_CFA_advance_loc4, 3, 2, 1, 0, 0x0e, 48);

	assert_places(&rows, expected, 6);
}

static void test_advances_count_in_units_of_the_code_factor(void **state)
{
	struct rows rows =
		RUN_AARCH64(0x42, 0x0e, 16, DW_CFA_advance_loc1, 255, 0x0e, 32, DW_CFA_advance_loc2,
			    1, 2, 0x0e, 48, DW_CFA_advance_loc4, 1, 0, 0, 0, 0x0e, 64);
	static const uint64_t expected[][2] = {
		{ 0, 0 },
		{ 8, 16 },
		{ 8 + 255 * 4, 32 },
		{ 1028 + 0x201 * 4, 48 },
		{ 1028 + 0x202 * 4, 64 },
	};

	assert_places(&rows, expected, 5);
}

static void test_an_advance_by_nothing_makes_no_row(void **state)
{
	assert_cfa(only(RUN(0x40, 0x0e, 16, DW_CFA_advance_loc1, 0, 0x0e, 24)), UNWIND_CFA_SP, 24);
}

/* Rows past the end of the FDE's code would describe other code. */
static void test_rows_end_where_the_code_ends(void **state)
{
	struct around around = { .length = 0x10 };

	assert_initial(only(RUN_IN(&around, 0x50, 0x0e, 16)));
	assert_initial(only(RUN_IN(&around, 0x50, 0x0e, 16, 0x44, 0x0e, 24)));
	assert_initial(only(RUN_IN(&around, 0x51, 0x0e, 16, 0x3f)));
	assert_int_equal(RUN_IN(&around, 0x4f, 0x0e, 16).n, 2);
}

static void test_a_location_can_be_set(void **state)
{
	static const uint64_t expected[][2] = { { 0, 8 }, { 0x10203, 16 } };
	struct rows rows = RUN(DW_CFA_set_loc, 0x03, 0x22, 0x01, 0, 0, 0, 0, 0, 0x0e, 16);

	assert_places(&rows, expected, 2);
}

/* Encoded like the section's other addresses: here relative to the operand itself. */
static void test_set_loc_uses_the_address_encoding(void **state)
{
	enum { SIZE_OF_COMMON = 4 + 4 + 1 + 3 + 3 + 2 + 3, SIZE_BEFORE = 4 + 4 + 8 + 1 + 1 };
	struct around around = { .address = START - SIZE_OF_COMMON - SIZE_BEFORE };
	static const uint64_t expected[][2] = { { 0, 8 }, { 0x1234, 16 } };
	struct rows rows;

	around.common = (struct made_common){ .augmentation = "zR",
					      .encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					      PROGRAM(0x0c, RSP, 8) };
	rows = RUN_IN(&around, DW_CFA_set_loc, 0x34, 0x12, 0, 0, 0x0e, 16);
	assert_places(&rows, expected, 2);
}

static void test_a_decreasing_location_is_fallback(void **state)
{
	assert_fallback_from(RUN(0x50, 0x0e, 16, DW_CFA_set_loc, 0x0f, 0x20, 0, 0, 0, 0, 0, 0), 16);
	assert_fallback_from(RUN(DW_CFA_set_loc, 0, 0, 0, 0, 0, 0, 0, 0), 0);
}

/* A factor so large that the location wraps around. */
static void test_an_advance_that_wraps_is_fallback(void **state)
{
	struct around around = { .common = x86_64 };

	around.common.code_factor = UINT64_MAX;
	assert_fallback_from(RUN_IN(&around, 0x41, 0x0e, 16), 0);
}

static void test_a_cfa_is_a_register_and_an_offset(void **state)
{
	struct unwind_rule rule;

	assert_cfa(only(RUN(DW_CFA_def_cfa, RSP, 0x90, 1)), UNWIND_CFA_SP, 0x90);
	assert_cfa(only(RUN(DW_CFA_def_cfa, RBP, 16)), UNWIND_CFA_FP, 16);
	rule = only(RUN(DW_CFA_def_cfa, R10, 0));
	assert_cfa(rule, UNWIND_CFA_REGISTER, 0);
	assert_int_equal(rule.cfa_register, R10);
	assert_cfa(only(RUN(DW_CFA_def_cfa_sf, RBP, 0x7e)), UNWIND_CFA_FP, 16);
	assert_cfa(only(RUN(DW_CFA_def_cfa_sf, RSP, 2)), UNWIND_CFA_SP, -16);
	assert_cfa(only(RUN_AARCH64(DW_CFA_def_cfa, X29, 16)), UNWIND_CFA_FP, 16);
	assert_cfa(only(RUN_AARCH64(DW_CFA_def_cfa, SP, 16)), UNWIND_CFA_SP, 16);
	rule = only(RUN_AARCH64(DW_CFA_def_cfa, X19, 16));
	assert_cfa(rule, UNWIND_CFA_REGISTER, 16);
	assert_int_equal(rule.cfa_register, X19);
}

static void test_a_cfa_changes_its_register_or_its_offset(void **state)
{
	struct unwind_rule rule = only(RUN(DW_CFA_def_cfa, RSP, 32, DW_CFA_def_cfa_register, RBX));

	assert_cfa(rule, UNWIND_CFA_REGISTER, 32);
	assert_int_equal(rule.cfa_register, RBX);
	rule = only(RUN(DW_CFA_def_cfa_register, RBX, DW_CFA_def_cfa_offset, 48));
	assert_cfa(rule, UNWIND_CFA_REGISTER, 48);
	assert_int_equal(rule.cfa_register, RBX);
	assert_cfa(only(RUN(DW_CFA_def_cfa_register, RBP)), UNWIND_CFA_FP, 8);
	assert_cfa(only(RUN(DW_CFA_def_cfa_register, RBP, DW_CFA_def_cfa_register, RSP)),
		   UNWIND_CFA_SP, 8);
	assert_cfa(only(RUN(DW_CFA_def_cfa_register, RBP, DW_CFA_def_cfa_offset_sf, 0x7d)),
		   UNWIND_CFA_FP, 24);
	assert_cfa(only(RUN(DW_CFA_def_cfa_offset_sf, 3)), UNWIND_CFA_SP, -24);
}

/* No register or addend may be left over: rules are compared byte by byte. */
static void test_a_rule_holds_nothing_of_the_one_before_it(void **state)
{
	struct unwind_rule plain = only(RUN(DW_CFA_def_cfa, RSP, 8));
	struct unwind_rule rule = only(RUN(DW_CFA_def_cfa_register, RBX, DW_CFA_def_cfa, RSP, 8));

	assert_memory_equal(&rule, &plain, sizeof(rule));
	rule = only(RUN(DW_CFA_def_cfa_expression, 5, 0x77, 8, DW_OP_deref, DW_OP_plus_uconst, 8,
			DW_CFA_def_cfa, RSP, 8, DW_CFA_register, RIP, RBX, DW_CFA_restore | RIP,
			DW_CFA_register, RBP, RBX, DW_CFA_restore | RBP));
	assert_memory_equal(&rule, &plain, sizeof(rule));
	rule = only(RUN(DW_CFA_def_cfa_expression, 5, 0x77, 8, DW_OP_deref, DW_OP_plus_uconst, 8,
			DW_CFA_def_cfa_expression, 3, 0x77, 8, DW_OP_deref));
	assert_int_equal(rule.cfa_addend, 0);
	rule = only(RUN(DW_CFA_def_cfa_expression, 5, 0x77, 8, DW_OP_deref, DW_OP_plus_uconst, 8,
			DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, DW_OP_lit15, DW_OP_and,
			DW_OP_lit11, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus));
	assert_int_equal(rule.cfa, UNWIND_CFA_PLT);
	assert_int_equal(rule.cfa_addend, 0);
}

static void test_unnameable_registers_are_fallback(void **state)
{
	assert_int_equal(only(RUN(DW_CFA_def_cfa, 0x80, 2, 8)).cfa, UNWIND_CFA_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_def_cfa_register, 0x87, 2)).cfa, UNWIND_CFA_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_def_cfa, 0xff, 1, 8)).cfa, UNWIND_CFA_REGISTER);
	/* Untracked registers whose low bits equal those of tracked ones. */
	assert_initial(only(RUN(DW_CFA_undefined, 0x90, 2, DW_CFA_undefined, 0x86, 2,
				DW_CFA_undefined, 0x87, 2)));
}

static void test_registers_are_saved_at_an_offset_from_the_cfa(void **state)
{
	assert_fp(only(RUN(DW_CFA_offset | RBP, 2)), UNWIND_VALUE_AT_CFA, -16);
	assert_return_address(only(RUN(DW_CFA_offset | RIP, 3)), UNWIND_VALUE_AT_CFA, -24);
	assert_fp(only(RUN(DW_CFA_offset_extended, RBP, 0x80, 1)), UNWIND_VALUE_AT_CFA, -1024);
	assert_fp(only(RUN(DW_CFA_offset_extended_sf, RBP, 2)), UNWIND_VALUE_AT_CFA, -16);
	assert_fp(only(RUN(DW_CFA_offset_extended_sf, RBP, 0x7e)), UNWIND_VALUE_AT_CFA, 16);
	assert_fp(only(RUN(DW_CFA_GNU_negative_offset_extended, RBP, 2)), UNWIND_VALUE_AT_CFA, 16);
	assert_return_address(only(RUN_AARCH64(DW_CFA_offset | X30, 1)), UNWIND_VALUE_AT_CFA, -8);
	assert_fp(only(RUN_AARCH64(DW_CFA_offset | X29, 2)), UNWIND_VALUE_AT_CFA, -16);
}

static void test_other_registers_are_not_tracked(void **state)
{
	assert_initial(
		only(RUN(DW_CFA_offset | RBX, 2, DW_CFA_offset_extended, 12, 3, DW_CFA_undefined,
			 13, DW_CFA_same_value, RBX, DW_CFA_register, 14, RBX, DW_CFA_expression,
			 15, 2, 0x77, 0, DW_CFA_val_offset, RBX, 9, DW_CFA_val_expression, RBX, 1,
			 0x30, DW_CFA_restore | RBX, DW_CFA_restore_extended, 17)));
}

static void test_restore_takes_the_rule_of_the_cie(void **state)
{
	struct around around = { .common = { .augmentation = "",
					     PROGRAM(0x0c, RSP, 8, 0x90, 1, 0x80 | RBP, 4) } };

	assert_return_address(only(RUN(DW_CFA_undefined, RIP, DW_CFA_restore | RIP)),
			      UNWIND_VALUE_AT_CFA, -8);
	assert_fp(only(RUN(DW_CFA_offset | RBP, 2, DW_CFA_restore | RBP)), UNWIND_VALUE_SAME, 0);
	assert_fp(only(RUN(DW_CFA_offset | RBP, 2, DW_CFA_restore_extended, RBP)),
		  UNWIND_VALUE_SAME, 0);
	assert_fp(only(RUN_IN(&around, DW_CFA_offset | RBP, 2, DW_CFA_restore | RBP)),
		  UNWIND_VALUE_AT_CFA, -32);
	assert_initial(only(RUN(DW_CFA_undefined, RSP, DW_CFA_restore | RSP)));
	assert_return_address(only(RUN_AARCH64(DW_CFA_offset | X30, 1, DW_CFA_restore | X30)),
			      UNWIND_VALUE_SAME, 0);
}

/* A CIE has no initial rules to restore. */
static void test_a_common_part_that_restores_is_fallback(void **state)
{
	struct around around = { .common = {
					 .augmentation = "",
					 PROGRAM(0x0c, RSP, 8, 0x90, 1, DW_CFA_restore | RIP) } };

	assert_fallback_from(RUN_IN(&around, DW_CFA_nop), 0);
	around.common = (struct made_common){
		.augmentation = "", PROGRAM(0x0c, RSP, 8, 0x90, 1, DW_CFA_restore_extended, RBP)
	};
	assert_fallback_from(RUN_IN(&around, DW_CFA_nop), 0);
}

static void test_registers_are_undefined_same_or_moved(void **state)
{
	assert_return_address(only(RUN(DW_CFA_undefined, RIP)), UNWIND_VALUE_UNDEFINED, 0);
	assert_fp(only(RUN(DW_CFA_undefined, RBP)), UNWIND_VALUE_UNDEFINED, 0);
	assert_fp(only(RUN(DW_CFA_offset | RBP, 2, DW_CFA_same_value, RBP)), UNWIND_VALUE_SAME, 0);
	assert_return_address(only(RUN(DW_CFA_register, RIP, RBX)), UNWIND_VALUE_REGISTER, RBX);
	assert_fp(only(RUN(DW_CFA_register, RBP, R10)), UNWIND_VALUE_REGISTER, R10);
	assert_return_address(only(RUN_AARCH64(DW_CFA_register, X30, X19)), UNWIND_VALUE_REGISTER,
			      X19);
	assert_return_address(only(RUN_AARCH64(DW_CFA_offset | X30, 1, DW_CFA_same_value, X30)),
			      UNWIND_VALUE_SAME, 0);
}

/* The CFA is the caller's stack pointer; any other rule for it is unsupported. */
static void test_an_sp_other_than_the_cfa_is_fallback(void **state)
{
	assert_fallback_from(RUN(0x44, DW_CFA_undefined, RSP), 4);
	assert_fallback_from(RUN(0x44, DW_CFA_offset | RSP, 2), 4);
	assert_fallback_from(RUN(0x44, DW_CFA_register, RSP, RBX), 4);
	assert_fallback_from(RUN(0x44, DW_CFA_val_offset, RSP, 1), 4);
	assert_fallback_from(RUN(0x44, DW_CFA_val_offset_sf, RSP, 1), 4);
	assert_fallback_from(RUN(0x44, DW_CFA_val_expression, RSP, 1, DW_OP_lit0), 4);
	assert_fallback_from(RUN(0x44, DW_CFA_expression, RSP, 2, 0x77, 8), 4);
	assert_initial(only(RUN(DW_CFA_val_offset, RSP, 0)));
	assert_initial(only(RUN(DW_CFA_val_offset_sf, RSP, 0)));
	assert_initial(only(RUN(DW_CFA_same_value, RSP)));
	assert_fallback_from(RUN_AARCH64(DW_CFA_undefined, SP), 0);
	assert_cfa(only(RUN_AARCH64(DW_CFA_val_offset, SP, 0)), UNWIND_CFA_SP, 0);
}

static void test_states_are_remembered_within_each_other(void **state)
{
	static const uint64_t expected[][2] = {
		{ 0, 16 }, { 1, 24 }, { 2, 32 }, { 3, 24 }, { 4, 16 }
	};
	struct rows rows = RUN(0x0e, 16, DW_CFA_offset | RBP, 2, DW_CFA_remember_state, 0x41, 0x0e,
			       24, DW_CFA_offset | RBP, 3, DW_CFA_remember_state, 0x41, 0x0e, 32,
			       DW_CFA_undefined, RIP, DW_CFA_same_value, RBP, 0x41,
			       DW_CFA_restore_state, 0x41, DW_CFA_restore_state);

	assert_places(&rows, expected, 5);
	assert_return_address(rows.list[2].rule, UNWIND_VALUE_UNDEFINED, 0);
	assert_fp(rows.list[2].rule, UNWIND_VALUE_SAME, 0);
	assert_return_address(rows.list[3].rule, UNWIND_VALUE_AT_CFA, -8);
	assert_fp(rows.list[3].rule, UNWIND_VALUE_AT_CFA, -24);
	assert_fp(rows.list[4].rule, UNWIND_VALUE_AT_CFA, -16);
}

static void test_remember_state_includes_the_sp(void **state)
{
	struct rows rows =
		RUN(DW_CFA_remember_state, DW_CFA_undefined, RSP, 0x41, DW_CFA_restore_state);

	assert_int_equal(rows.n, 2);
	assert_int_equal(rows.list[0].rule.cfa, UNWIND_CFA_FALLBACK);
	assert_initial(rows.list[1].rule);
}

static void test_restore_without_remember_is_fallback(void **state)
{
	assert_fallback_from(RUN(0x44, DW_CFA_restore_state, 0x44, 0x0e, 16), 4);
	assert_fallback_from(
		RUN(DW_CFA_remember_state, 0x44, DW_CFA_restore_state, DW_CFA_restore_state, 0x44),
		4);
}

static void test_states_deeper_than_the_limit_are_fallback(void **state)
{
	uint8_t program[2 * CFI_STATES_MAX + 8] = { 0x44 };
	struct around around = { 0 };
	size_t n = 1;

	memset(program + n, DW_CFA_remember_state, CFI_STATES_MAX);
	n += CFI_STATES_MAX;
	assert_int_equal(run(&around, program, n).list[1].rule.cfa, UNWIND_CFA_SP);
	memset(program + n, DW_CFA_restore_state, CFI_STATES_MAX);
	assert_int_equal(run(&around, program, n + CFI_STATES_MAX).list[1].rule.cfa, UNWIND_CFA_SP);
	program[n] = DW_CFA_remember_state;
	assert_fallback_from(run(&around, program, n + 1), 4);
	program[n + 1] = DW_CFA_restore_state;
	assert_fallback_from(run(&around, program, n + 2), 4);
}

static void test_the_size_of_arguments_changes_nothing(void **state)
{
	assert_initial(only(RUN(DW_CFA_GNU_args_size, 0x90, 1)));
}

/* Signing keeps an address's low bits; on other machines 0x2d is another instruction. */
static void test_only_aarch64_accepts_signed_return_addresses(void **state)
{
	struct rows rows = RUN_AARCH64(0x41, DW_CFA_AARCH64_negate_ra_state, 0x0e, 16, 0x41, 0x2c,
				       0x41, DW_CFA_AARCH64_negate_ra_state, 0x0e, 0);
	static const uint64_t expected[][2] = { { 0, 0 }, { 4, 16 }, { 8, 16 }, { 12, 0 } };

	assert_places(&rows, expected, 4);
	for (size_t i = 0; i < rows.n; i++)
		assert_return_address(rows.list[i].rule, UNWIND_VALUE_SAME, 0);
	assert_fallback_from(RUN(0x44, DW_CFA_GNU_window_save, 0x44, 0x0e, 16), 4);
	assert_fallback_from(RUN(0x44, 0x2c, 0x44, 0x0e, 16), 4);
}

static void test_fallback_from_an_unknown_instruction_on(void **state)
{
	static const uint8_t unknown[] = { 0x17, 0x1c, DW_CFA_MIPS_advance_loc8, 0x2b, 0x30, 0x3f };

	for (size_t i = 0; i < sizeof(unknown); i++) {
		assert_fallback_from(RUN(0x44, unknown[i], 0x44, 0x0e, 16, 0x44), 4);
		assert_fallback_from(RUN(0x44, 0x0e, 16, unknown[i]), 4);
	}
}

/* Instructions truncated before their last byte. */
static void test_a_cut_instruction_is_fallback_from_there_on(void **state)
{
	static const uint8_t cut[][4] = {
		{ 1, DW_CFA_advance_loc1 },
		{ 2, DW_CFA_advance_loc2, 1 },
		{ 3, DW_CFA_advance_loc4, 1, 1 },
		{ 3, DW_CFA_set_loc, 1, 1 },
		{ 1, DW_CFA_offset | RBP },
		{ 2, DW_CFA_offset | RBP, 0x80 },
		{ 2, DW_CFA_offset_extended, RBP },
		{ 2, DW_CFA_offset_extended_sf, RBP },
		{ 2, DW_CFA_GNU_negative_offset_extended, RBP },
		{ 1, DW_CFA_restore_extended },
		{ 1, DW_CFA_undefined },
		{ 1, DW_CFA_same_value },
		{ 2, DW_CFA_register, RBP },
		{ 2, DW_CFA_def_cfa, RSP },
		{ 2, DW_CFA_def_cfa_sf, RSP },
		{ 1, DW_CFA_def_cfa_register },
		{ 1, DW_CFA_def_cfa_offset },
		{ 1, DW_CFA_def_cfa_offset_sf },
		{ 1, DW_CFA_def_cfa_expression },
		{ 3, DW_CFA_def_cfa_expression, 3, 0x77 },
		{ 3, DW_CFA_expression, RBP, 2 },
		{ 3, DW_CFA_val_expression, RBP, 0x80 },
		{ 2, DW_CFA_val_offset, RBP },
		{ 2, DW_CFA_val_offset_sf, RBP },
		{ 1, DW_CFA_GNU_args_size },
	};

	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
		uint8_t program[4] = { 0x44 };

		memcpy(program + 1, cut[i] + 1, cut[i][0]);
		assert_fallback_from(run(&(struct around){ 0 }, program, 1 + cut[i][0]), 4);
	}
}

/* The target is incomplete, so the location must not move there. */
static void test_a_truncated_location_is_not_used(void **state)
{
	struct around around = { .address = START - 20 };

	around.common = (struct made_common){ .augmentation = "zR",
					      .encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					      PROGRAM(0x0c, RSP, 8) };
	assert_fallback_from(RUN_IN(&around, 0x44, DW_CFA_set_loc, 0x34, 0x12), 4);
}

static void test_offsets_of_more_than_32_bits_are_fallback(void **state)
{
	/* 2^31, and the largest that fits. */
	assert_int_equal(only(RUN(DW_CFA_def_cfa, RSP, 0x80, 0x80, 0x80, 0x80, 8)).cfa,
			 UNWIND_CFA_FALLBACK);
	assert_cfa(only(RUN(DW_CFA_def_cfa, RSP, 0xff, 0xff, 0xff, 0xff, 7)), UNWIND_CFA_SP,
		   INT32_MAX);
	assert_int_equal(only(RUN(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 8)).cfa,
			 UNWIND_CFA_FALLBACK);
	/* 8 * 2^28 */
	assert_int_equal(only(RUN(DW_CFA_def_cfa_offset_sf, 0x80, 0x80, 0x80, 0x80, 0x7f)).cfa,
			 UNWIND_CFA_FALLBACK);
	assert_cfa(only(RUN(DW_CFA_def_cfa_offset_sf, 0x80, 0x80, 0x80, 0x80, 1)), UNWIND_CFA_SP,
		   INT32_MIN);
	assert_int_equal(only(RUN(DW_CFA_offset | RBP, 0x81, 0x80, 0x80, 0x80, 1)).fp,
			 UNWIND_VALUE_FALLBACK);
	assert_fp(only(RUN(DW_CFA_offset | RBP, 0x80, 0x80, 0x80, 0x80, 1)), UNWIND_VALUE_AT_CFA,
		  INT32_MIN);
	assert_int_equal(only(RUN(DW_CFA_register, RIP, 0x80, 0x80, 0x80, 0x80, 8)).return_address,
			 UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN(DW_CFA_expression, RBP, 6, 0x77, 0x80, 0x80, 0x80, 0x80, 8)).fp,
			 UNWIND_VALUE_FALLBACK);
	/* A stack pointer rule at a distant offset is not the CFA. */
	assert_int_equal(only(RUN(DW_CFA_offset | RSP, 0x80, 0x80, 0x80, 0x80, 4)).cfa,
			 UNWIND_CFA_FALLBACK);
}

/* The CFA is known again once a valid offset is set. */
static void test_a_fitting_offset_ends_the_fallback(void **state)
{
	assert_cfa(only(RUN(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 8, DW_CFA_def_cfa, RSP,
			    16)),
		   UNWIND_CFA_SP, 16);
}

/* INT64_MIN has no negation; the result must not depend on overflow. */
static void test_the_lowest_offset_can_be_negated(void **state)
{
	struct around around = { .common = x86_64 };

	around.common.data_factor = INT64_MIN;
	assert_int_equal(only(RUN_IN(&around, DW_CFA_GNU_negative_offset_extended, RBP, 1)).fp,
			 UNWIND_VALUE_FALLBACK);
	assert_int_equal(only(RUN_IN(&around, DW_CFA_offset_extended_sf, RBP, 0x7f)).fp,
			 UNWIND_VALUE_FALLBACK);
}

/* A CIE covers no code, so it must not advance. */
static void test_a_common_part_that_advances_is_fallback(void **state)
{
	struct around around = { .common = { .augmentation = "",
					     PROGRAM(0x0c, RSP, 8, 0x90, 1, 0x41) } };

	assert_fallback_from(RUN_IN(&around, 0x44, 0x0e, 16), 0);
}

static void test_a_common_part_that_cannot_be_run_is_fallback(void **state)
{
	struct around around = { .common = { .augmentation = "",
					     PROGRAM(0x0c, RSP, 8, 0x90, 1, 0x3f) } };

	assert_fallback_from(RUN_IN(&around, 0x44, 0x0e, 16), 0);
	around.common = (struct made_common){ .augmentation = "", PROGRAM(0x0c, RSP) };
	assert_fallback_from(RUN_IN(&around, 0x44, 0x0e, 16), 0);
}

static void test_the_row_callback_can_stop_the_run(void **state)
{
	struct around around = { .n_rows_max = 2, .outcome = -ENOSPC };
	struct rows rows =
		RUN_IN(&around, 0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 32, 0x41, 0x0e, 40);

	assert_int_equal(rows.n, 2);
	around.n_rows_max = 4; /* all but the last row, which holds up to the end */
	rows = RUN_IN(&around, 0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 32, 0x41, 0x0e, 40);
	assert_int_equal(rows.n, 4);
}

/* For any bytes each location of the code has a rule; run() checks them. */
static void test_flipped_bits_leave_rows_in_order(void **state)
{
	uint8_t program[] = { 0x44,
			      0x0e,
			      16,
			      0x86,
			      2,
			      0x43,
			      DW_CFA_def_cfa_register,
			      RBP,
			      DW_CFA_remember_state,
			      DW_CFA_advance_loc1,
			      0x80,
			      DW_CFA_def_cfa_expression,
			      3,
			      0x76,
			      0x78,
			      DW_OP_deref,
			      DW_CFA_expression,
			      RBP,
			      2,
			      0x76,
			      0,
			      DW_CFA_advance_loc2,
			      0,
			      1,
			      DW_CFA_restore_state,
			      DW_CFA_advance_loc4,
			      0,
			      1,
			      0,
			      0,
			      DW_CFA_offset_extended_sf,
			      RBP,
			      0x7e,
			      0xc6,
			      DW_CFA_def_cfa,
			      RSP,
			      8 };

	for (size_t i = 0; i < sizeof(program) * 8; i++) {
		struct rows rows;

		program[i / 8] ^= 1 << i % 8;
		rows = run(&(struct around){ 0 }, program, sizeof(program));
		assert_true(rows.n > 0);
		assert_int_equal(rows.list[0].address, START);
		run(&(struct around){ .arch = &unwind_aarch64 }, program, sizeof(program));
		program[i / 8] ^= 1 << i % 8;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_instructions_the_common_ones_hold),
		cmocka_unit_test(test_without_a_cfa_the_rule_is_fallback),
		cmocka_unit_test(test_the_default_return_address_rule_is_known),
		cmocka_unit_test(test_a_return_address_in_a_register_is_kept_apart),
		cmocka_unit_test(test_advances_of_all_sizes_count_from_each_other),
		cmocka_unit_test(test_advances_count_in_units_of_the_code_factor),
		cmocka_unit_test(test_an_advance_by_nothing_makes_no_row),
		cmocka_unit_test(test_rows_end_where_the_code_ends),
		cmocka_unit_test(test_a_location_can_be_set),
		cmocka_unit_test(test_set_loc_uses_the_address_encoding),
		cmocka_unit_test(test_a_decreasing_location_is_fallback),
		cmocka_unit_test(test_an_advance_that_wraps_is_fallback),
		cmocka_unit_test(test_a_cfa_is_a_register_and_an_offset),
		cmocka_unit_test(test_a_cfa_changes_its_register_or_its_offset),
		cmocka_unit_test(test_a_rule_holds_nothing_of_the_one_before_it),
		cmocka_unit_test(test_unnameable_registers_are_fallback),
		cmocka_unit_test(test_registers_are_saved_at_an_offset_from_the_cfa),
		cmocka_unit_test(test_other_registers_are_not_tracked),
		cmocka_unit_test(test_restore_takes_the_rule_of_the_cie),
		cmocka_unit_test(test_a_common_part_that_restores_is_fallback),
		cmocka_unit_test(test_registers_are_undefined_same_or_moved),
		cmocka_unit_test(test_an_sp_other_than_the_cfa_is_fallback),
		cmocka_unit_test(test_states_are_remembered_within_each_other),
		cmocka_unit_test(test_remember_state_includes_the_sp),
		cmocka_unit_test(test_restore_without_remember_is_fallback),
		cmocka_unit_test(test_states_deeper_than_the_limit_are_fallback),
		cmocka_unit_test(test_the_size_of_arguments_changes_nothing),
		cmocka_unit_test(test_only_aarch64_accepts_signed_return_addresses),
		cmocka_unit_test(test_fallback_from_an_unknown_instruction_on),
		cmocka_unit_test(test_a_cut_instruction_is_fallback_from_there_on),
		cmocka_unit_test(test_a_truncated_location_is_not_used),
		cmocka_unit_test(test_offsets_of_more_than_32_bits_are_fallback),
		cmocka_unit_test(test_a_fitting_offset_ends_the_fallback),
		cmocka_unit_test(test_the_lowest_offset_can_be_negated),
		cmocka_unit_test(test_a_common_part_that_advances_is_fallback),
		cmocka_unit_test(test_a_common_part_that_cannot_be_run_is_fallback),
		cmocka_unit_test(test_the_row_callback_can_stop_the_run),
		cmocka_unit_test(test_flipped_bits_leave_rows_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
