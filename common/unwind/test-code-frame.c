/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Typical compiled functions, and the frame at each of their instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/unwind/unwind-arch.h"

enum { SAME = -1 };

struct function {
	const uint8_t *code;
	size_t size;
};

#define FUNCTION(...)                                                                              \
	{                                                                                          \
		(const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })         \
	}

/* push %rbp; mov %rsp, %rbp; sub $16, %rsp; cld; add $16, %rsp; pop %rbp; ret */
static const struct function with_pointer = FUNCTION(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 16,
						     0xfc, 0x48, 0x83, 0xc4, 16, 0x5d, 0xc3);
/* Java's: mov %eax, -0x14000(%rsp); push %rbp; sub $32, %rsp; cld; add $32, %rsp; pop %rbp;
 * cmp 0x378(%r15), %rsp; ja; ret */
static const struct function without_pointer = FUNCTION(
	0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 32, 0xfc, 0x48, 0x83, 0xc4,
	32, 0x5d, 0x49, 0x3b, 0xa7, 0x78, 3, 0, 0, 0x0f, 0x87, 1, 0, 0, 0, 0xc3);
/* V8's: cld; push %rbp; mov %rsp, %rbp; push %rsi; cld; mov %rbp, %rsp; pop %rbp; ret $8 */
static const struct function late_pointer =
	FUNCTION(0xfc, 0x55, 0x48, 0x8b, 0xec, 0x56, 0xfc, 0x48, 0x8b, 0xe5, 0x5d, 0xc2, 8, 0);
/* cld; leave; ret */
static const struct function leaving = FUNCTION(0xfc, 0xc9, 0xc3);
/* cld; cld; ret */
static const struct function leaf = FUNCTION(0xfc, 0xfc, 0xc3);

static struct unwind_rule rule;

static enum code_frame find(const struct function *function, size_t offset, bool is_exact)
{
	const struct code_place place = {
		.size = function->size,
		.offset = offset,
		.is_exact = is_exact,
		.begin = function->code,
		.n_begin = function->size,
		.at = function->code + offset,
		.n_at = function->size - offset,
	};

	rule = (struct unwind_rule){ 0 };
	return unwind_x86_64.find_frame(&place, &rule);
}

/* Checks the rule at an offset: CFA, and where the frame pointer is saved relative to it. */
static void check(const struct function *function, size_t offset, enum unwind_cfa cfa,
		  int32_t cfa_offset, int32_t fp_offset)
{
	assert_int_equal(find(function, offset, true), CODE_FRAME_RULE);
	assert_int_equal(rule.cfa, cfa);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.return_address, UNWIND_VALUE_AT_CFA);
	assert_int_equal(rule.return_address_offset, -8);
	assert_int_equal(rule.fp, fp_offset == SAME ? UNWIND_VALUE_SAME : UNWIND_VALUE_AT_CFA);
	if (fp_offset != SAME)
		assert_int_equal(rule.fp_offset, fp_offset);
}

static void test_a_prologue_with_a_frame_pointer(void **state)
{
	check(&with_pointer, 0, UNWIND_CFA_SP, 8, SAME);
	check(&with_pointer, 1, UNWIND_CFA_SP, 16, -16);
	check(&with_pointer, 4, UNWIND_CFA_SP, 16, -16);
	check(&with_pointer, 8, UNWIND_CFA_SP, 32, -16);
}

static void test_the_frame_pointer_holds_after_the_prologue(void **state)
{
	assert_int_equal(find(&late_pointer, 6, true), CODE_FRAME_POINTER);
	assert_int_equal(find(&with_pointer, 9, false), CODE_FRAME_POINTER);
}

static void test_an_epilogue_with_a_frame_pointer(void **state)
{
	check(&with_pointer, 9, UNWIND_CFA_SP, 32, -16);
	check(&with_pointer, 13, UNWIND_CFA_SP, 16, -16);
	check(&with_pointer, 14, UNWIND_CFA_SP, 8, SAME);
	check(&leaving, 1, UNWIND_CFA_FP, 16, -16);
	check(&late_pointer, 7, UNWIND_CFA_FP, 16, -16);
	check(&late_pointer, 10, UNWIND_CFA_SP, 16, -16);
	check(&late_pointer, 11, UNWIND_CFA_SP, 8, SAME);
}

static void test_code_that_keeps_no_frame_pointer(void **state)
{
	check(&without_pointer, 0, UNWIND_CFA_SP, 8, SAME);
	check(&without_pointer, 7, UNWIND_CFA_SP, 8, SAME);
	check(&without_pointer, 8, UNWIND_CFA_SP, 16, -16);
	check(&without_pointer, 12, UNWIND_CFA_SP, 48, -16);
	check(&without_pointer, 13, UNWIND_CFA_SP, 48, -16);
	check(&without_pointer, 18, UNWIND_CFA_SP, 8, SAME);
	check(&without_pointer, 25, UNWIND_CFA_SP, 8, SAME);
	assert_int_equal(find(&without_pointer, 13, false), CODE_FRAME_NONE);
	assert_int_equal(find(&leaf, 2, false), CODE_FRAME_NONE);
	check(&leaf, 2, UNWIND_CFA_SP, 8, SAME);
}

/* Until rbp is set up it is the caller's. */
static void test_before_a_late_setup_no_frame_is_found(void **state)
{
	assert_int_equal(find(&late_pointer, 1, true), CODE_FRAME_NONE);
	assert_int_equal(find(&late_pointer, 2, true), CODE_FRAME_NONE);
}

/* Such code has many entries; the first does not show where the frame pointer is kept. */
static void test_oversized_code_is_not_a_function(void **state)
{
	const struct code_place place = {
		.size = CODE_FRAME_FUNCTION_MAX + 1,
		.offset = 99,
		.begin = leaf.code,
		.n_begin = leaf.size,
	};

	assert_int_equal(unwind_x86_64.find_frame(&place, &rule), CODE_FRAME_UNKNOWN);
}

/* Each part that needs a frame may set one up. */
static void test_all_setups_have_their_sizes(void **state)
{
	static const uint8_t code[] = {
		0x85, 0xff,						    /* test %edi, %edi */
		0x55, 0x48, 0x89, 0xe5, 0x6a, 0x22, 0x48, 0x83, 0xec, 0x40, /* push $34; sub $64 */
		0x85, 0xff, 0x5d, 0xc3,					    /* …; pop; ret */
		0x55, 0x48, 0x8b, 0xec, 0x56, 0x57, 0x50, 0x85, 0xff,	    /* three pushes */
	};
	uint32_t sizes[4];

	assert_int_equal(unwind_x86_64.find_frame_sizes(code, sizeof(code), sizes, 4), 2);
	assert_int_equal(sizes[0], 72);
	assert_int_equal(sizes[1], 24);
	assert_int_equal(unwind_x86_64.find_frame_sizes(code, sizeof(code), sizes, 1), 1);
	assert_int_equal(unwind_x86_64.find_frame_sizes(code, 2, sizes, 4), 0);
}

static void test_a_place_within_an_instruction_is_none(void **state)
{
	assert_int_equal(find(&with_pointer, 2, false), CODE_FRAME_UNKNOWN);
}

/* Truncated anywhere, code must not be read past its end. */
static void test_truncated_code_is_not_read_past(void **state)
{
	const struct function *functions[] = { &with_pointer, &without_pointer, &late_pointer };

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		for (size_t size = 0; size < functions[i]->size; size++) {
			uint8_t *code = malloc(size ? size : 1);
			const struct code_place place = {
				.size = functions[i]->size,
				.offset = size / 2,
				.is_exact = true,
				.begin = code,
				.n_begin = size,
				.at = code + size / 2,
				.n_at = size - size / 2,
			};

			memcpy(code, functions[i]->code, size);
			unwind_x86_64.find_frame(&place, &rule);
			free(code);
		}
}

/* Random, mostly common instruction bytes: no read outside of them, only complete rules. */
static void test_random_bytes_are_harmless(void **state)
{
	static const uint8_t often[] = {
		0x55, 0x48, 0x89, 0x8b, 0xe5, 0xec, 0x83, 0x81, 0xc4, 0x5d,
		0xc9, 0xc3, 0x41, 0x58, 0x50, 0x90, 0x0f, 0x87, 0xf3, 0xff
	};
	uint32_t random = 1, sizes[2];

	for (int i = 0; i < 200000; i++) {
		size_t size = 1 + i % 24;
		uint8_t *code = malloc(size);
		struct code_place place = { size, i % (size + 1), i % 2, code, size };

		for (size_t k = 0; k < size; k++) {
			random = random * 1664525 + 1013904223;
			code[k] = often[(random >> 16) % sizeof(often)];
		}
		place.at = code + place.offset;
		place.n_at = size - place.offset;
		if (unwind_x86_64.find_frame(&place, &rule) == CODE_FRAME_RULE) {
			assert_true(rule.cfa == UNWIND_CFA_SP || rule.cfa == UNWIND_CFA_FP);
			assert_true(rule.cfa_offset >= 8);
		}
		assert_in_range(unwind_x86_64.find_frame_sizes(code, size, sizes, 2), 0, 2);
		free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_prologue_with_a_frame_pointer),
		cmocka_unit_test(test_the_frame_pointer_holds_after_the_prologue),
		cmocka_unit_test(test_an_epilogue_with_a_frame_pointer),
		cmocka_unit_test(test_code_that_keeps_no_frame_pointer),
		cmocka_unit_test(test_before_a_late_setup_no_frame_is_found),
		cmocka_unit_test(test_oversized_code_is_not_a_function),
		cmocka_unit_test(test_all_setups_have_their_sizes),
		cmocka_unit_test(test_a_place_within_an_instruction_is_none),
		cmocka_unit_test(test_truncated_code_is_not_read_past),
		cmocka_unit_test(test_random_bytes_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
