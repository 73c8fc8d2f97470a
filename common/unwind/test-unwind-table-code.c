/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules from code whose CFI is missing, wrong, or left over from discarded code. */
#include "common/unwind/test-table-made.h"

/* The linker has discarded the code. */
static void test_ranges_outside_code_are_ignored(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0, 0x1000, 0x1000 };
	put_code(&file, EH, 0x0f00, 0x1000, 16);
	put_code(&file, DEBUG, 0x0f80, 0x1010, 24);
	table = compile(&file);
	assert_null(unwind_table_find(&table, 0));
	assert_int_equal(table.header->n_refused, 2);
}

static void test_headers_in_a_segment_are_no_code(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0, 0x2000, 0, .code = 0x1000 };
	put_code(&file, EH, 0x1100, 0x1200, 16);
	put_code(&file, DEBUG, 0, 0x1800, 24);
	put_code(&file, DEBUG, 0x1000, 0x1010, 32);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1010, 32);
	assert_marked(&table, 0x1010, 0x1100, NONE);
	assert_marked(&table, 0x1100, 0x1200, 16);
	assert_null(unwind_table_find(&table, 0x1400));
	assert_int_equal(table.header->n_refused, 1);
}

static void put_dropped(struct file *file, uint64_t first_end, uint64_t second)
{
	file->segments[0] = (struct unwind_segment){ 0, 0x2000, 0, .code = 0x1000 };
	put_code(file, DEBUG, 0, first_end, 16);
	put_code(file, DEBUG, 0, 0x20, 16); /* of another, discarded section */
	put_code(file, DEBUG, second, 0x1400, 24);
	put_code(file, DEBUG, 0x20, 0x30, 16);
	put_code(file, DEBUG, 0x1400, 0x1500, 24);
}

static void test_dropped_code_behind_it_is_ignored(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_dropped(&file, 0x1017, 0x1020);
	put_code(&file, DEBUG, 0x1200, 0x1240, 32);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1200, NONE);
	assert_marked(&table, 0x1200, 0x1240, 32);
	assert_marked(&table, 0x1240, 0x2000, NONE);
	assert_int_equal(table.header->n_refused, 5);
}

static void test_consistent_cfi_is_trusted(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_dropped(&file, 0x1017, 0x1020);
	put_code(&file, DEBUG, 0x1500, 0x1540, 32);
	table = compile(&file);
	assert_marked(&table, 0x1020, 0x1500, 24);
	assert_marked(&table, 0x1500, 0x1540, 32);
}

static void test_code_before_the_dropped_part_is_trusted(void **state)
{
	static const uint64_t seconds[] = { 0x1018 + 64, 0x1019, 0x1016 };

	for (size_t i = 0; i < 3; i++) {
		_cleanup_files_ struct file file = file_new();
		_cleanup_table_ struct unwind_table table = { 0 };

		put_dropped(&file, 0x1017, seconds[i]);
		put_code(&file, DEBUG, 0x1200, 0x1240, 32);
		table = compile(&file);
		assert_marked(&table, seconds[i], 0x1200, 24);
		assert_marked(&table, 0x1200, 0x1240, 32);
		assert_marked(&table, 0x1400, 0x1500, 24);
	}
}

#define PUT_PLT(file, address, ...)                                                                \
	do {                                                                                       \
		static const uint8_t code[] = { __VA_ARGS__ };                                     \
                                                                                                   \
		put_plt(file, address, code, sizeof(code));                                        \
	} while (0)
#define ENDBR64 0xf3, 0x0f, 0x1e, 0xfa
#define SLOT 1, 2, 3, 4 /* any other address */
#define BACK(n) 0x100 - (n), 0xff, 0xff, 0xff

static void put_plt(struct file *file, uint64_t address, const uint8_t *code, size_t size)
{
	file->plts[file->n_plts++] = (struct plt_code){ address, code, size };
}

/* `pushed` has one digit per byte of code: words pushed above the return address. */
static void assert_pushed(const struct file *file, uint64_t from, const char *pushed)
{
	_cleanup_table_ struct unwind_table table = compile(file);

	for (size_t i = 0; pushed[i]; i++)
		assert_int_equal(mark_at(&table, from + i), 8 + 8 * (pushed[i] - '0'));
	assert_int_equal(mark_at(&table, from - 1), NONE);
	assert_int_equal(mark_at(&table, from + strlen(pushed)), NONE);
	assert_int_equal(unwind_table_find(&table, from)->flags, UNWIND_FLAG_INFERRED);
}

static void test_a_plt_without_cfi_gets_inferred_rules(void **state)
{
	_cleanup_files_ struct file file = file_new();

	PUT_PLT(&file, 0x2000, 0xff, 0x35, SLOT, 0xff, 0x25, SLOT, 0x0f, 0x1f, 0x40, 0, /* head */
		0xff, 0x25, SLOT, 0x68, 0, 0, 0, 0, 0xe9, BACK(0x20),			/* stub */
		0xff, 0x25, SLOT, 0x68, 1, 0, 0, 0, 0xe9, BACK(0x30));			/* stub */
	assert_pushed(&file, 0x2000,
		      "1111112222220000"
		      "0000000000011111"
		      "0000000000011111");
}

static void test_a_plt_with_endbr64_gets_inferred_rules(void **state)
{
	_cleanup_files_ struct file file = file_new();

	PUT_PLT(&file, 0x2000, 0xff, 0x35, SLOT, 0xf2, 0xff, 0x25, SLOT, 0x0f, 0x1f, 0, ENDBR64,
		0x68, 0, 0, 0, 0, 0xf2, 0xe9, BACK(0x1f), 0x90);
	PUT_PLT(&file, 0x2020, ENDBR64, 0xff, 0x25, SLOT, 0x66, 0x0f, 0x1f, 0x44, 0, 0);
	assert_pushed(&file, 0x2000,
		      "1111112222222000"
		      "0000000001111110"
		      "0000000000000000");
}

static void test_the_plt_of_mold_pushes_in_its_head(void **state)
{
	_cleanup_files_ struct file file = file_new();

	PUT_PLT(&file, 0x2000, ENDBR64, 0x41, 0x53, 0xff, 0x35, SLOT, 0xff, 0x25, SLOT, 0xcc, 0xcc,
		ENDBR64, 0x41, 0xbb, 0, 0, 0, 0, 0xff, 0x25, SLOT);
	assert_pushed(&file, 0x2000,
		      "00000011111122222200"
		      "0000000000000000");
}

static void test_a_plt_of_unknown_code_has_no_rule(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	/* add $8, %rsp; jmp; then a jump into the middle of a stub */
	PUT_PLT(&file, 0x2000, 0x48, 0x83, 0xc4, 8, 0xff, 0x25, SLOT);
	PUT_PLT(&file, 0x3000, 0xff, 0x25, SLOT, 0xe9, BACK(9));
	table = compile(&file);
	assert_marked(&table, 0x2000, 0x4000, NONE);
	assert_int_equal(table.header->n_refused, 2);
}

static void test_a_plt_without_place_or_end_is_refused(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	PUT_PLT(&file, CODE - 6, 0xff, 0x25, SLOT, 0x66, 0x90);
	PUT_PLT(&file, 0x3000, 0xff, 0x25, SLOT, 0x68, 0, 0, 0, 0);
	table = compile(&file);
	assert_marked(&table, 0x2000, CODE, NONE);
	assert_int_equal(table.header->n_refused, 2);
}

static void test_cfi_of_a_plt_takes_precedence(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	PUT_PLT(&file, 0x2000, 0xff, 0x25, SLOT, 0x66, 0x90, 0xff, 0x25, SLOT, 0x66, 0x90, 0xff,
		0x25, SLOT, 0x66, 0x90);
	put_code(&file, EH, 0x1000, 0x2004, 40);
	put_code(&file, DEBUG, 0x2008, 0x2010, 48);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x2004, 40);
	assert_marked(&table, 0x2004, 0x2008, 8);
	assert_marked(&table, 0x2008, 0x2010, 48);
	assert_marked(&table, 0x2010, 0x2018, 8);
	assert_marked(&table, 0x2018, 0x3000, NONE);
}

#define PAUSE_LFENCE 0xf3, 0x90, 0x0f, 0xae, 0xe8

/*
 * A CFI program for `code` at 0x1000. `pushed` has a '0' or '1' per byte, as above, or '@' or 'A'
 * where the inferred rule differs from the program's.
 */
static void assert_thunk(const uint8_t *code, size_t size, const void *program, size_t program_size,
			 const char *pushed)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };
	uint8_t bytes[0x1100] = { 0 };

	memcpy(bytes + 0x1000, code, size);
	file.code = (struct unwind_code){ .file = bytes, .size = sizeof(bytes) };
	put_program(&file, EH, 0x1000, 0x1000 + size, program, program_size);
	put_code(&file, EH, 0x1000 + size, 0x1040, 40);
	table = compile(&file);
	assert_int_equal(strlen(pushed), size);
	for (size_t i = 0; i < size; i++) {
		const struct unwind_rule *rule = unwind_table_find(&table, 0x1000 + i);

		assert_int_equal(rule->cfa_offset, 8 + 8 * (pushed[i] & 1));
		assert_int_equal(rule->flags,
				 pushed[i] & 0x40 ? UNWIND_FLAG_INFERRED | UNWIND_FLAG_CONTRADICTS
						  : 0);
	}
	assert_marked(&table, 0x1000 + size, 0x1040, 40);
}

static void test_a_clang_thunk_has_pushed_a_return_address(void **state)
{
	static const uint8_t code[] = {
		0xe8, 11,   0, 0,    0,	   PAUSE_LFENCE, 0xeb, 0xf9, 0x0f,
		0x1f, 0x40, 0, 0x4c, 0x89, 0x1c,	 0x24, 0xc3,
	};
	static const uint8_t unoptimized[] = {
		0xe8, 11,   0,	  0,	0,    PAUSE_LFENCE, 0xe9, 0xf6, 0xff,
		0xff, 0xff, 0x90, 0x4c, 0x89, 0x1c,	    0x24, 0xc3,
	};

	assert_thunk(code, sizeof(code), "", 0, "0000000000000000AAAAA");
	assert_thunk(unoptimized, sizeof(unoptimized), "", 0, "0000000000000000AAAAA");
}

/* gcc's CFI describes the push by the call, but not its removal. */
static void test_a_gcc_thunk_pops_before_it_returns(void **state)
{
	static const uint8_t program[] = { DW_CFA_advance_loc | 12, DW_CFA_def_cfa_offset, 16 };
	static const uint8_t to_register[] = {
		0xe8, 7, 0, 0, 0, PAUSE_LFENCE, 0xeb, 0xf9, 0x48, 0x89, 0x04, 0x24, 0xc3,
	};
	static const uint8_t back[] = {
		0xe8, 7, 0, 0, 0, PAUSE_LFENCE, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 8, 0xc3, 0xcc,
	};

	assert_thunk(to_register, sizeof(to_register), program, sizeof(program),
		     "00000000000011111");
	assert_thunk(back, sizeof(back) - 1, program, sizeof(program),
		     "000000000000"
		     "11111"
		     "@");
	assert_thunk(back, sizeof(back), program, sizeof(program),
		     "000000000000"
		     "11111"
		     "@@");
}

static void test_code_similar_to_a_thunk_is_unchanged(void **state)
{
	static const uint8_t thunk[] = {
		0xe8, 11,   0, 0,    0,	   PAUSE_LFENCE, 0xeb, 0xf9, 0x0f,
		0x1f, 0x40, 0, 0x4c, 0x89, 0x1c,	 0x24, 0xc3,
	};
	uint8_t code[sizeof(thunk)];

	for (size_t i = 0; i < sizeof(thunk); i++) {
		bool is_padding = i >= 12 && i < 16, is_register = i == 18, is_rex = i == 16;

		if (is_padding || is_register || is_rex)
			continue;
		memcpy(code, thunk, sizeof(code));
		code[i] ^= 0x81;
		assert_thunk(code, sizeof(code), "", 0, "000000000000000000000");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges_outside_code_are_ignored),
		cmocka_unit_test(test_headers_in_a_segment_are_no_code),
		cmocka_unit_test(test_dropped_code_behind_it_is_ignored),
		cmocka_unit_test(test_consistent_cfi_is_trusted),
		cmocka_unit_test(test_code_before_the_dropped_part_is_trusted),
		cmocka_unit_test(test_a_plt_without_cfi_gets_inferred_rules),
		cmocka_unit_test(test_a_plt_with_endbr64_gets_inferred_rules),
		cmocka_unit_test(test_the_plt_of_mold_pushes_in_its_head),
		cmocka_unit_test(test_a_plt_of_unknown_code_has_no_rule),
		cmocka_unit_test(test_a_plt_without_place_or_end_is_refused),
		cmocka_unit_test(test_cfi_of_a_plt_takes_precedence),
		cmocka_unit_test(test_a_clang_thunk_has_pushed_a_return_address),
		cmocka_unit_test(test_a_gcc_thunk_pops_before_it_returns),
		cmocka_unit_test(test_code_similar_to_a_thunk_is_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
